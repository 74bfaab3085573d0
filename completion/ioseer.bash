# Completion of ioseer for bash. completion/generate fills in the tables.

# Sets `options`, `places` and `repeats` for a verb, and `kind` for the value of its option: empty for a flag.
_ioseer_table() {
    options= places=() repeats= kind=
    case $1 in
@VERBS@
    esac
    case "$1 $2" in
@VALUES@
    esac
}

# WORD ENDING...: files with one of these endings and folders; all files if none has.
_ioseer_files() {
    local IFS=$'\n' word=$1 ending
    shift
    for ending; do COMPREPLY+=($(compgen -f -X "!*.$ending" -- "$word")); done
    if ((${#COMPREPLY[@]})); then
        COMPREPLY+=($(compgen -d -- "$word"))
    else
        COMPREPLY=($(compgen -f -- "$word"))
    fi
    compopt -o filenames 2>/dev/null
}

# KIND WORD
_ioseer_offer() {
    local IFS=$' \t\n' before=
    case $1 in
    one\ *) COMPREPLY=($(compgen -W "${1#one }" -- "$2")) ;;
    some\ *)
        [[ $2 == *,* ]] && before=${2%,*},
        COMPREPLY=($(compgen -P "$before" -W "${1#some }" -- "${2##*,}"))
        ;;
    stack) COMPREPLY=($(compgen -W "$(ioseer stack list 2>/dev/null | cut -f1)" -- "$2")) ;;
    table) COMPREPLY=($(compgen -W "$(ioseer query --tables 2>/dev/null | sed -n 's/^\([a-z_]*\):.*/\1/p')" -- "$2")) ;;
    process) COMPREPLY=($(compgen -W "$(ps -eo pid= 2>/dev/null)" -- "$2")) ;;
    variable) COMPREPLY=($(compgen -e -- "$2")) ;;
    program) COMPREPLY=($(compgen -c -- "$2")) ;;
    file) _ioseer_files "$2" ;;
    directory)
        IFS=$'\n'
        COMPREPLY=($(compgen -d -- "$2"))
        compopt -o filenames 2>/dev/null
        ;;
@FILES@
    esac
}

# The command that begins at this word, as if it stood alone.
_ioseer_command() {
    if declare -F _comp_command_offset >/dev/null; then
        _comp_command_offset "$1"
    elif declare -F _command_offset >/dev/null; then
        _command_offset "$1"
    elif (($1 == COMP_CWORD)); then
        COMPREPLY=($(compgen -c -- "${COMP_WORDS[COMP_CWORD]}"))
    else
        _ioseer_files "${COMP_WORDS[COMP_CWORD]}"
    fi
}

_ioseer() {
    local cur=${COMP_WORDS[COMP_CWORD]} verb= place=0 i word names own options places repeats kind
@NAMES@
@OWN@
    COMPREPLY=()
    for ((i = 1; i < COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        if [[ -z $verb ]]; then
            [[ $word == -* ]] || verb=$word
            continue
        fi
        _ioseer_table "$verb" "$word"
        if [[ $word == -- && ${places[0]} == command ]]; then
            _ioseer_command $((i + 1))
            return
        elif [[ $word == -* ]]; then
            [[ -n $kind ]] || continue
            # bash makes three words of --name=value
            [[ ${COMP_WORDS[i + 1]} == = ]] && ((i++))
            if ((i + 1 >= COMP_CWORD)); then
                _ioseer_offer "$kind" "${cur#=}"
                return
            fi
            ((i++))
        elif [[ ${places[0]} == command ]]; then
            _ioseer_command "$i"
            return
        else
            ((place++))
        fi
    done
    _ioseer_table "$verb"
    if [[ -z $verb ]]; then
        [[ $cur == -* ]] && names=$own
        COMPREPLY=($(compgen -W "$names" -- "$cur"))
    elif [[ $verb == help ]]; then
        COMPREPLY=($(compgen -W "$names" -- "$cur"))
    elif [[ $cur == -* ]]; then
        COMPREPLY=($(compgen -W "$options" -- "$cur"))
    elif [[ ${places[0]} == command ]]; then
        _ioseer_command "$COMP_CWORD"
    else
        [[ -n $repeats ]] && ((place >= ${#places[@]})) && place=$((${#places[@]} - 1))
        _ioseer_offer "${places[place]}" "$cur"
    fi
}

complete -F _ioseer ioseer
