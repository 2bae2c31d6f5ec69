# SPDX-License-Identifier: MIT
# bash completion for proctor. The program itself knows what may stand at the cursor: `proctor complete`.

# The command that begins at this place of COMP_WORDS, by its own completion if bash-completion is loaded.
_proctor_command()
{
	if declare -F _comp_command_offset >/dev/null; then
		_comp_command_offset "$1"
	elif declare -F _command_offset >/dev/null; then
		_command_offset "$1"
	elif ((COMP_CWORD == $1)); then
		mapfile -t COMPREPLY < <(compgen -c -- "$cur")
	else
		compopt -o filenames
		mapfile -t COMPREPLY < <(compgen -f -- "$cur")
	fi
}

# Readline puts a candidate in the place of what follows the last of the characters that it breaks words at.
_proctor_add()
{
	local word=$1

	[[ $quote ]] || printf -v word %q "$word"
	COMPREPLY+=("${word#"$broken"}")
}

_proctor()
{
	local program=${1/#\~\//$HOME/} cur=$2 rest=${COMP_LINE:0:COMP_POINT} word quote= broken line i
	local -a words=() starts=()

	# COMP_WORDS is also cut at = and : (COMP_WORDBREAKS); here a word ends at a blank, as for the shell.
	for ((i = 0; i <= COMP_CWORD; i++)); do
		word=${COMP_WORDS[i]}
		if ((i == 0)) || [[ $rest == [[:space:]]* || ! ${COMP_LINE-} ]]; then
			words+=("")
			starts+=("$i")
		fi
		rest=${rest#"${rest%%[![:space:]]*}"}
		((i < COMP_CWORD)) || word=${COMP_LINE:+$rest}
		words[-1]+=$word
		rest=${rest#"$word"}
	done
	word=${words[-1]}
	[[ $word != [\"\']* ]] || quote=yes
	[[ $cur == [\"\']* ]] && cur=${cur:1}
	broken=${word%"$2"}
	COMPREPLY=()
	compopt -o nosort 2>/dev/null
	while IFS= read -r line; do
		case $line in
		$'\tfiles') compopt -o filenames && mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -f -- "$cur") ;;
		$'\tdirs') compopt -o filenames && mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -d -- "$cur") ;;
		$'\tpids') mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -W "$(ps -u "$EUID" -o pid= 2>/dev/null)" -- "$cur") ;;
		$'\tcommand '*) _proctor_command "${starts[${line##* } + 1]}" ;;
		*) _proctor_add "${line%%$'\t'*}" ;;
		esac
	done < <("$program" complete --quoted -- "${words[@]:1}" 2>/dev/null)
}

complete -F _proctor proctor
