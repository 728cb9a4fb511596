# Completion of kubectl-hpa in fish, which runs the program itself. For `kubectl hpa`, kubectl's own
# completion runs kubectl_complete-hpa.

function __kubectl_hpa
    set -l words (commandline -opc)
    string match -q '~/*' -- $words[1]; and set words[1] $HOME(string sub -s 2 -- $words[1])
    # Fish would print the error in the prompt.
    type -q $words[1]; or return
    # Unquoted, because fish quotes candidates itself.
    set -l current (commandline -ct | string replace -r -- '^(--[^=]*=)?["\']' '$1' | string unescape)
    set -l lines ($words[1] __complete $words[2..-1] "$current" 2>/dev/null)
    # Candidates do not include the flag before a value.
    set -l flag (string match -r -- '^--[^=]*=' "$current")
    if test (count $lines) -eq 1 -a "$lines[1]" = ':0'
        set lines (__fish_complete_path (string replace -- "$flag" '' "$current"))
    end
    for line in $lines
        string match -q ':*' -- $line; or printf '%s%s\n' "$flag" $line
    end
end

for name in kubectl-hpa kubectl-hpa_explain kubectl-hpa_predict kubectl-hpa_apply
    complete -c $name -f -a '(__kubectl_hpa)'
end
