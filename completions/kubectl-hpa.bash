# Completion of kubectl-hpa in bash, which runs the program itself. For `kubectl hpa`, kubectl's own
# completion runs kubectl_complete-hpa.

_kubectl_hpa() {
    # Bash splits words at = and :, which arguments may contain. Words without a space between them are
    # one argument.
    local words=() rest=${COMP_LINE:0:COMP_POINT} last=-1 i word trimmed
    for ((i = 0; i <= COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        trimmed=${rest#"${rest%%[![:space:]]*}"}
        # Ignore text after the cursor.
        ((i == COMP_CWORD)) && word=$trimmed
        if ((last >= 0)) && [[ $trimmed == "$rest" ]]; then
            words[last]+=$word
        else
            words[++last]=$word
        fi
        rest=${trimmed#"$word"}
    done
    [[ ${words[0]} == '~/'* ]] && words[0]=$HOME${words[0]:1}

    local current=${words[last]} line directive=0 values=()
    while IFS= read -r line; do
        case $line in
            :*) directive=${line#:} ;;
            *) values+=("${line%%$'\t'*}") ;;
        esac
    done < <("${words[0]}" __complete "${words[@]:1}" 2>/dev/null)

    # Candidates do not include the flag before a value. Bash expects what follows the last character
    # at which it splits.
    local flag='' split=''
    [[ $current == --*=* ]] && flag=${current%%=*}=
    [[ $current == *[=:]* ]] && split=${current%"${current##*[=:]}"}
    COMPREPLY=()
    for line in "${values[@]}"; do
        line=$flag$line
        COMPREPLY+=("${line#"$split"}")
    done
    if ((!(directive & 4) && ${#COMPREPLY[@]} == 0)); then
        compopt -o filenames 2>/dev/null
        while IFS= read -r line; do
            COMPREPLY+=("$line")
        done < <(compgen -f -- "${current#"$split"}")
    elif ((directive & 2)); then
        compopt -o nospace 2>/dev/null
    fi
}

complete -F _kubectl_hpa kubectl-hpa kubectl-hpa_explain kubectl-hpa_predict kubectl-hpa_apply
