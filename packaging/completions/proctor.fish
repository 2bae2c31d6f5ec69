# SPDX-License-Identifier: MIT
# fish completion for proctor. The program itself knows what may stand at the cursor: `proctor complete`.

function __proctor_complete
	set -l words (commandline -opc)
	set -l program (string replace -r '^~/' "$HOME/" -- $words[1])
	set -l typed (commandline -ct)
	# What stands before a value in the same word: --config=
	set -l before (string match -r -- '^--[a-z-]+=' $typed)
	set -l value (string replace -- "$before" '' $typed)
	set -l plain (string unescape -- $typed; or echo $typed)

	set -e words[1]
	for line in ($program complete -- $words "$plain" 2>/dev/null)
		switch $line
			case \tfiles
				__fish_complete_path $value | string replace -r -- '^' "$before"
			case \tdirs
				__fish_complete_directories $value '' | string replace -r -- '^' "$before"
			case \tpids
				__fish_complete_pids
			case \t'command *'
				__fish_complete_subcommand --fcs-skip=(math (string split -f 2 ' ' -- $line) + 1)
			case '*'
				echo $line
		end
	end
end

complete -c proctor -f -k -a '(__proctor_complete)'
