# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_kubectl_hpa_global_optspecs
    string join \n color= h/help V/version
end

function __fish_kubectl_hpa_needs_command
    # Figure out if the current invocation already has a command.
    set -l cmd (commandline -opc)
    set -e cmd[1]
    argparse -s (__fish_kubectl_hpa_global_optspecs) -- $cmd 2>/dev/null
    or return
    if set -q argv[1]
        # Also print the command, so this can be used to figure out what it is.
        echo $argv[1]
        return 1
    end
    return 0
end

function __fish_kubectl_hpa_using_subcommand
    set -l cmd (__fish_kubectl_hpa_needs_command)
    test -z "$cmd"
    and return 1
    contains -- $cmd[1] $argv
end

complete -c kubectl-hpa -n "__fish_kubectl_hpa_needs_command" -l color -d 'Whether to use colours; NO_COLOR and CLICOLOR_FORCE are honoured' -r -f -a "auto\t'On a terminal that shows them'
always\t'Always'
never\t'Never'"
complete -c kubectl-hpa -n "__fish_kubectl_hpa_needs_command" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kubectl-hpa -n "__fish_kubectl_hpa_needs_command" -s V -l version -d 'Print version'
complete -c kubectl-hpa -n "__fish_kubectl_hpa_needs_command" -f -a "explain" -d 'Run the controller\'s pass once and show the decision with every step'
complete -c kubectl-hpa -n "__fish_kubectl_hpa_needs_command" -f -a "predict" -d 'Show what the pass would decide if something were otherwise'
complete -c kubectl-hpa -n "__fish_kubectl_hpa_needs_command" -f -a "apply" -d 'Run the pass once and write its result through the target\'s scale'
complete -c kubectl-hpa -n "__fish_kubectl_hpa_using_subcommand explain" -s l -l selector -d 'Only the HPAs with these labels, such as team=checkout' -r
complete -c kubectl-hpa -n "__fish_kubectl_hpa_using_subcommand explain" -s f -l filename -d 'Saved objects instead of a cluster: a file, a folder, or - for standard input; repeatable' -r
complete -c kubectl-hpa -n "__fish_kubectl_hpa_using_subcommand explain" -s o -l output -d 'The form of the answer; without it, a report for people' -r -f -a "wide\t'The report with every pod, the list with more columns'
markdown\t'For a comment on a change, in GitHub\'s Markdown'
json\t'The published contract as JSON'
yaml\t'The published contract as YAML'"
complete -c kubectl-hpa -n "__fish_kubectl_hpa_using_subcommand explain" -l save -d 'Also write everything that was used to this file, to be read again with -f' -r
complete -c kubectl-hpa -n "__fish_kubectl_hpa_using_subcommand explain" -l history -d 'none: it has just started; infer: by what the API shows; or a file with a ControllerState' -r
complete -c kubectl-hpa -n "__fish_kubectl_hpa_using_subcommand explain" -l recommendation -d 'A recommendation that it remembers, such as 8@2m for 8 replicas two minutes ago; repeatable' -r
complete -c kubectl-hpa -n "__fish_kubectl_hpa_using_subcommand explain" -l observe -d 'Watch the HPA for so long before, to learn what it remembers' -r
complete -c kubectl-hpa -n "__fish_kubectl_hpa_using_subcommand explain" -l now -d 'The controller\'s clock, such as 2026-11-21T06:00:00Z' -r
complete -c kubectl-hpa -n "__fish_kubectl_hpa_using_subcommand explain" -l kubernetes-version -d 'The version whose rules apply, such as v1.31 (default: the input\'s, the controller manager\'s or the server\'s)' -r
complete -c kubectl-hpa -n "__fish_kubectl_hpa_using_subcommand explain" -l tolerance -d 'Ratios this close to 1 change nothing (default 0.1)' -r
complete -c kubectl-hpa -n "__fish_kubectl_hpa_using_subcommand explain" -l downscale-stabilization -d 'How long recommendations hold against scaling down (default 5m)' -r
complete -c kubectl-hpa -n "__fish_kubectl_hpa_using_subcommand explain" -l cpu-initialization-period -d 'How long after its start a pod\'s CPU may be that of its start (default 5m)' -r
complete -c kubectl-hpa -n "__fish_kubectl_hpa_using_subcommand explain" -l initial-readiness-delay -d 'How soon after its start a pod turns ready for the first time (default 30s)' -r
complete -c kubectl-hpa -n "__fish_kubectl_hpa_using_subcommand explain" -l sync-period -d 'The time between two passes (default 15s)' -r
complete -c kubectl-hpa -n "__fish_kubectl_hpa_using_subcommand explain" -l feature-gates -d 'Feature gates, such as HPAScaleToZero=true; separated by commas or repeated' -r
complete -c kubectl-hpa -n "__fish_kubectl_hpa_using_subcommand explain" -s n -l namespace -d 'The namespace; with -f and without it, the only HPA of that name, or all HPAs' -r
complete -c kubectl-hpa -n "__fish_kubectl_hpa_using_subcommand explain" -l kubeconfig -d 'The kubeconfig file; without it KUBECONFIG, then ~/.kube/config' -r
complete -c kubectl-hpa -n "__fish_kubectl_hpa_using_subcommand explain" -l context -d 'The context of the kubeconfig' -r
complete -c kubectl-hpa -n "__fish_kubectl_hpa_using_subcommand explain" -l cluster -d 'The cluster of the kubeconfig' -r
complete -c kubectl-hpa -n "__fish_kubectl_hpa_using_subcommand explain" -l user -d 'The user of the kubeconfig' -r
complete -c kubectl-hpa -n "__fish_kubectl_hpa_using_subcommand explain" -s s -l server -d 'The address of the API server' -r
complete -c kubectl-hpa -n "__fish_kubectl_hpa_using_subcommand explain" -l token -d 'A bearer token' -r
complete -c kubectl-hpa -n "__fish_kubectl_hpa_using_subcommand explain" -l as -d 'The user to act as' -r
complete -c kubectl-hpa -n "__fish_kubectl_hpa_using_subcommand explain" -l as-group -d 'A group to act as; may be repeated' -r
complete -c kubectl-hpa -n "__fish_kubectl_hpa_using_subcommand explain" -l as-uid -d 'The uid to act as' -r
complete -c kubectl-hpa -n "__fish_kubectl_hpa_using_subcommand explain" -l as-user-extra -d 'More about the user to act as; may be repeated' -r
complete -c kubectl-hpa -n "__fish_kubectl_hpa_using_subcommand explain" -l certificate-authority -d 'The file with the certificates that the server\'s must descend from' -r
complete -c kubectl-hpa -n "__fish_kubectl_hpa_using_subcommand explain" -l client-certificate -d 'The file with the client\'s certificate' -r
complete -c kubectl-hpa -n "__fish_kubectl_hpa_using_subcommand explain" -l client-key -d 'The file with the client\'s private key' -r
complete -c kubectl-hpa -n "__fish_kubectl_hpa_using_subcommand explain" -l insecure-skip-tls-verify -d 'Believe any certificate of the server' -r
complete -c kubectl-hpa -n "__fish_kubectl_hpa_using_subcommand explain" -l tls-server-name -d 'The name that the server\'s certificate must carry' -r
complete -c kubectl-hpa -n "__fish_kubectl_hpa_using_subcommand explain" -l request-timeout -d 'The time for one request, such as 5s; 0 for no limit (default 10s)' -r
complete -c kubectl-hpa -n "__fish_kubectl_hpa_using_subcommand explain" -l disable-compression -d 'Ask for answers without compression' -r
complete -c kubectl-hpa -n "__fish_kubectl_hpa_using_subcommand explain" -s v -l v -d 'How much to tell about requests, 0 to 9' -r
complete -c kubectl-hpa -n "__fish_kubectl_hpa_using_subcommand explain" -l warnings-as-errors -d 'Fail when the server sends a warning' -r
complete -c kubectl-hpa -n "__fish_kubectl_hpa_using_subcommand explain" -l color -d 'Whether to use colours; NO_COLOR and CLICOLOR_FORCE are honoured' -r -f -a "auto\t'On a terminal that shows them'
always\t'Always'
never\t'Never'"
complete -c kubectl-hpa -n "__fish_kubectl_hpa_using_subcommand explain" -s A -l all-namespaces -d 'The HPAs of all namespaces'
complete -c kubectl-hpa -n "__fish_kubectl_hpa_using_subcommand explain" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kubectl-hpa -n "__fish_kubectl_hpa_using_subcommand predict" -s f -l filename -d 'Saved objects instead of a cluster: a file, a folder, or - for standard input; repeatable' -r
complete -c kubectl-hpa -n "__fish_kubectl_hpa_using_subcommand predict" -s o -l output -d 'The form of the answer; without it, a report for people' -r -f -a "wide\t'The report with every pod'
markdown\t'For a comment on a change, in GitHub\'s Markdown'
json\t'The published contract as JSON'
yaml\t'The published contract as YAML'
svg\t'The chart alone, of --curve or --for'"
complete -c kubectl-hpa -n "__fish_kubectl_hpa_using_subcommand predict" -l curve -d 'Draw the replicas over the values of a metric, such as cpu, app=cpu for a container, or \'queue_depth{queue=a}\'' -r
complete -c kubectl-hpa -n "__fish_kubectl_hpa_using_subcommand predict" -l save -d 'Also write everything that was read to this file, without what is assumed, to be read again with -f' -r
complete -c kubectl-hpa -n "__fish_kubectl_hpa_using_subcommand predict" -l cpu -d 'The CPU that the pods use, or one container in each; repeatable' -r
complete -c kubectl-hpa -n "__fish_kubectl_hpa_using_subcommand predict" -l memory -d 'The memory that the pods use, or one container in each; repeatable' -r
complete -c kubectl-hpa -n "__fish_kubectl_hpa_using_subcommand predict" -l metric -d 'What a metric says: for each pod, or in all for Object and External metrics (there also where the target is an average); repeatable' -r
complete -c kubectl-hpa -n "__fish_kubectl_hpa_using_subcommand predict" -l pod -d 'What a metric says of one pod, such as web-1:cpu=300m; repeatable' -r
complete -c kubectl-hpa -n "__fish_kubectl_hpa_using_subcommand predict" -l replicas -d 'The replicas that there are: further pods are as the average of those that count' -r
complete -c kubectl-hpa -n "__fish_kubectl_hpa_using_subcommand predict" -l unready -d 'So many pods, or the pod of this name, are not ready and never were; repeatable' -r
complete -c kubectl-hpa -n "__fish_kubectl_hpa_using_subcommand predict" -l missing -d 'So many pods, or the pod of this name, have no metrics; repeatable' -r
complete -c kubectl-hpa -n "__fish_kubectl_hpa_using_subcommand predict" -l pending -d 'So many pods, or the pod of this name, do not run yet; repeatable' -r
complete -c kubectl-hpa -n "__fish_kubectl_hpa_using_subcommand predict" -l min -d 'The lower bound, spec.minReplicas' -r
complete -c kubectl-hpa -n "__fish_kubectl_hpa_using_subcommand predict" -l max -d 'The upper bound, spec.maxReplicas' -r
complete -c kubectl-hpa -n "__fish_kubectl_hpa_using_subcommand predict" -l target -d 'The target of a metric, such as cpu=70% or queue_depth=30; repeatable' -r
complete -c kubectl-hpa -n "__fish_kubectl_hpa_using_subcommand predict" -l set -d 'A field of the spec, such as behavior.scaleDown.stabilizationWindowSeconds=60; null unsets it; repeatable' -r
complete -c kubectl-hpa -n "__fish_kubectl_hpa_using_subcommand predict" -l hpa -d 'A manifest that the HPA is replaced with, - for standard input' -r
complete -c kubectl-hpa -n "__fish_kubectl_hpa_using_subcommand predict" -l for -d 'Play pass after pass for so long (default: to the end of the trace). The load stays as it is: what the pods use together is shared evenly by those that are ready' -r
complete -c kubectl-hpa -n "__fish_kubectl_hpa_using_subcommand predict" -l trace -d 'The load over time, - for standard input: CSV with a column "time" (30s, 1m30s, 90 or 2026-11-21T06:00:00Z) and one for each metric, by its name. An amount is that of all pods together; a share, what the pods there are use of their requests, so that more pods use less; a change is one of what there is at the start. A value holds until the next' -r
complete -c kubectl-hpa -n "__fish_kubectl_hpa_using_subcommand predict" -l ready-after -d 'How long after its creation a new pod is ready' -r
complete -c kubectl-hpa -n "__fish_kubectl_hpa_using_subcommand predict" -l metrics-after -d 'How long after its creation a new pod has metrics' -r
complete -c kubectl-hpa -n "__fish_kubectl_hpa_using_subcommand predict" -l expect -d 'What must hold, such as \'desired <= 20 and not limited\'; repeatable' -r
complete -c kubectl-hpa -n "__fish_kubectl_hpa_using_subcommand predict" -l fail-on -d 'What must not be; separated by commas or repeated' -r -f -a "scale-down\t'Fewer replicas'
scale-up\t'More replicas'
change\t'Fewer or more replicas'
limited\t'Rate limits or bounds change the outcome'
maxed\t'The outcome is the maximum'
metrics-missing\t'A metric cannot be evaluated, or has no value of a pod'
stale\t'A sample is older than twice its window'
warnings\t'The controller would send a warning event'"
complete -c kubectl-hpa -n "__fish_kubectl_hpa_using_subcommand predict" -l report -d 'Also report on the expectations: junit=FILE, or github for annotations and step summary' -r
complete -c kubectl-hpa -n "__fish_kubectl_hpa_using_subcommand predict" -l history -d 'none: it has just started; infer: by what the API shows; or a file with a ControllerState' -r
complete -c kubectl-hpa -n "__fish_kubectl_hpa_using_subcommand predict" -l recommendation -d 'A recommendation that it remembers, such as 8@2m for 8 replicas two minutes ago; repeatable' -r
complete -c kubectl-hpa -n "__fish_kubectl_hpa_using_subcommand predict" -l observe -d 'Watch the HPA for so long before, to learn what it remembers' -r
complete -c kubectl-hpa -n "__fish_kubectl_hpa_using_subcommand predict" -l now -d 'The controller\'s clock, such as 2026-11-21T06:00:00Z' -r
complete -c kubectl-hpa -n "__fish_kubectl_hpa_using_subcommand predict" -l kubernetes-version -d 'The version whose rules apply, such as v1.31 (default: the input\'s, the controller manager\'s or the server\'s)' -r
complete -c kubectl-hpa -n "__fish_kubectl_hpa_using_subcommand predict" -l tolerance -d 'Ratios this close to 1 change nothing (default 0.1)' -r
complete -c kubectl-hpa -n "__fish_kubectl_hpa_using_subcommand predict" -l downscale-stabilization -d 'How long recommendations hold against scaling down (default 5m)' -r
complete -c kubectl-hpa -n "__fish_kubectl_hpa_using_subcommand predict" -l cpu-initialization-period -d 'How long after its start a pod\'s CPU may be that of its start (default 5m)' -r
complete -c kubectl-hpa -n "__fish_kubectl_hpa_using_subcommand predict" -l initial-readiness-delay -d 'How soon after its start a pod turns ready for the first time (default 30s)' -r
complete -c kubectl-hpa -n "__fish_kubectl_hpa_using_subcommand predict" -l sync-period -d 'The time between two passes (default 15s)' -r
complete -c kubectl-hpa -n "__fish_kubectl_hpa_using_subcommand predict" -l feature-gates -d 'Feature gates, such as HPAScaleToZero=true; separated by commas or repeated' -r
complete -c kubectl-hpa -n "__fish_kubectl_hpa_using_subcommand predict" -s n -l namespace -d 'The namespace; with -f and without it, the only HPA of that name, or all HPAs' -r
complete -c kubectl-hpa -n "__fish_kubectl_hpa_using_subcommand predict" -l kubeconfig -d 'The kubeconfig file; without it KUBECONFIG, then ~/.kube/config' -r
complete -c kubectl-hpa -n "__fish_kubectl_hpa_using_subcommand predict" -l context -d 'The context of the kubeconfig' -r
complete -c kubectl-hpa -n "__fish_kubectl_hpa_using_subcommand predict" -l cluster -d 'The cluster of the kubeconfig' -r
complete -c kubectl-hpa -n "__fish_kubectl_hpa_using_subcommand predict" -l user -d 'The user of the kubeconfig' -r
complete -c kubectl-hpa -n "__fish_kubectl_hpa_using_subcommand predict" -s s -l server -d 'The address of the API server' -r
complete -c kubectl-hpa -n "__fish_kubectl_hpa_using_subcommand predict" -l token -d 'A bearer token' -r
complete -c kubectl-hpa -n "__fish_kubectl_hpa_using_subcommand predict" -l as -d 'The user to act as' -r
complete -c kubectl-hpa -n "__fish_kubectl_hpa_using_subcommand predict" -l as-group -d 'A group to act as; may be repeated' -r
complete -c kubectl-hpa -n "__fish_kubectl_hpa_using_subcommand predict" -l as-uid -d 'The uid to act as' -r
complete -c kubectl-hpa -n "__fish_kubectl_hpa_using_subcommand predict" -l as-user-extra -d 'More about the user to act as; may be repeated' -r
complete -c kubectl-hpa -n "__fish_kubectl_hpa_using_subcommand predict" -l certificate-authority -d 'The file with the certificates that the server\'s must descend from' -r
complete -c kubectl-hpa -n "__fish_kubectl_hpa_using_subcommand predict" -l client-certificate -d 'The file with the client\'s certificate' -r
complete -c kubectl-hpa -n "__fish_kubectl_hpa_using_subcommand predict" -l client-key -d 'The file with the client\'s private key' -r
complete -c kubectl-hpa -n "__fish_kubectl_hpa_using_subcommand predict" -l insecure-skip-tls-verify -d 'Believe any certificate of the server' -r
complete -c kubectl-hpa -n "__fish_kubectl_hpa_using_subcommand predict" -l tls-server-name -d 'The name that the server\'s certificate must carry' -r
complete -c kubectl-hpa -n "__fish_kubectl_hpa_using_subcommand predict" -l request-timeout -d 'The time for one request, such as 5s; 0 for no limit (default 10s)' -r
complete -c kubectl-hpa -n "__fish_kubectl_hpa_using_subcommand predict" -l disable-compression -d 'Ask for answers without compression' -r
complete -c kubectl-hpa -n "__fish_kubectl_hpa_using_subcommand predict" -s v -l v -d 'How much to tell about requests, 0 to 9' -r
complete -c kubectl-hpa -n "__fish_kubectl_hpa_using_subcommand predict" -l warnings-as-errors -d 'Fail when the server sends a warning' -r
complete -c kubectl-hpa -n "__fish_kubectl_hpa_using_subcommand predict" -l color -d 'Whether to use colours; NO_COLOR and CLICOLOR_FORCE are honoured' -r -f -a "auto\t'On a terminal that shows them'
always\t'Always'
never\t'Never'"
complete -c kubectl-hpa -n "__fish_kubectl_hpa_using_subcommand predict" -l exit-code -d 'Exit with 5 where a change of replicas is due'
complete -c kubectl-hpa -n "__fish_kubectl_hpa_using_subcommand predict" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kubectl-hpa -n "__fish_kubectl_hpa_using_subcommand apply" -s o -l output -d 'The form of the answer; without it, the plan and what came of it' -r -f -a "name\t'The target, as in deployment.apps/web'
json\t'The published contract as JSON'
yaml\t'The published contract as YAML'"
complete -c kubectl-hpa -n "__fish_kubectl_hpa_using_subcommand apply" -l dry-run -d 'client: send nothing; server: let the API server judge it without keeping it' -r -f -a "none\t'It is written'
client\t'Nothing is sent'
server\t'The API server says what it would do'"
complete -c kubectl-hpa -n "__fish_kubectl_hpa_using_subcommand apply" -l current-replicas -d 'Only if the target has so many replicas' -r
complete -c kubectl-hpa -n "__fish_kubectl_hpa_using_subcommand apply" -l resource-version -d 'Only if the target has this resourceVersion' -r
complete -c kubectl-hpa -n "__fish_kubectl_hpa_using_subcommand apply" -l retry -d 'Start over so often where the HPA or its target has moved between reading and writing' -r
complete -c kubectl-hpa -n "__fish_kubectl_hpa_using_subcommand apply" -l wait -d 'Wait until the replicas are ready, or somebody else changes their count (default 5m)' -r
complete -c kubectl-hpa -n "__fish_kubectl_hpa_using_subcommand apply" -l history -d 'none: it has just started; infer: by what the API shows; or a file with a ControllerState' -r
complete -c kubectl-hpa -n "__fish_kubectl_hpa_using_subcommand apply" -l recommendation -d 'A recommendation that it remembers, such as 8@2m for 8 replicas two minutes ago; repeatable' -r
complete -c kubectl-hpa -n "__fish_kubectl_hpa_using_subcommand apply" -l observe -d 'Watch the HPA for so long before, to learn what it remembers' -r
complete -c kubectl-hpa -n "__fish_kubectl_hpa_using_subcommand apply" -l now -d 'The controller\'s clock, such as 2026-11-21T06:00:00Z' -r
complete -c kubectl-hpa -n "__fish_kubectl_hpa_using_subcommand apply" -l kubernetes-version -d 'The version whose rules apply, such as v1.31 (default: the input\'s, the controller manager\'s or the server\'s)' -r
complete -c kubectl-hpa -n "__fish_kubectl_hpa_using_subcommand apply" -l tolerance -d 'Ratios this close to 1 change nothing (default 0.1)' -r
complete -c kubectl-hpa -n "__fish_kubectl_hpa_using_subcommand apply" -l downscale-stabilization -d 'How long recommendations hold against scaling down (default 5m)' -r
complete -c kubectl-hpa -n "__fish_kubectl_hpa_using_subcommand apply" -l cpu-initialization-period -d 'How long after its start a pod\'s CPU may be that of its start (default 5m)' -r
complete -c kubectl-hpa -n "__fish_kubectl_hpa_using_subcommand apply" -l initial-readiness-delay -d 'How soon after its start a pod turns ready for the first time (default 30s)' -r
complete -c kubectl-hpa -n "__fish_kubectl_hpa_using_subcommand apply" -l sync-period -d 'The time between two passes (default 15s)' -r
complete -c kubectl-hpa -n "__fish_kubectl_hpa_using_subcommand apply" -l feature-gates -d 'Feature gates, such as HPAScaleToZero=true; separated by commas or repeated' -r
complete -c kubectl-hpa -n "__fish_kubectl_hpa_using_subcommand apply" -s n -l namespace -d 'The namespace; with -f and without it, the only HPA of that name, or all HPAs' -r
complete -c kubectl-hpa -n "__fish_kubectl_hpa_using_subcommand apply" -l kubeconfig -d 'The kubeconfig file; without it KUBECONFIG, then ~/.kube/config' -r
complete -c kubectl-hpa -n "__fish_kubectl_hpa_using_subcommand apply" -l context -d 'The context of the kubeconfig' -r
complete -c kubectl-hpa -n "__fish_kubectl_hpa_using_subcommand apply" -l cluster -d 'The cluster of the kubeconfig' -r
complete -c kubectl-hpa -n "__fish_kubectl_hpa_using_subcommand apply" -l user -d 'The user of the kubeconfig' -r
complete -c kubectl-hpa -n "__fish_kubectl_hpa_using_subcommand apply" -s s -l server -d 'The address of the API server' -r
complete -c kubectl-hpa -n "__fish_kubectl_hpa_using_subcommand apply" -l token -d 'A bearer token' -r
complete -c kubectl-hpa -n "__fish_kubectl_hpa_using_subcommand apply" -l as -d 'The user to act as' -r
complete -c kubectl-hpa -n "__fish_kubectl_hpa_using_subcommand apply" -l as-group -d 'A group to act as; may be repeated' -r
complete -c kubectl-hpa -n "__fish_kubectl_hpa_using_subcommand apply" -l as-uid -d 'The uid to act as' -r
complete -c kubectl-hpa -n "__fish_kubectl_hpa_using_subcommand apply" -l as-user-extra -d 'More about the user to act as; may be repeated' -r
complete -c kubectl-hpa -n "__fish_kubectl_hpa_using_subcommand apply" -l certificate-authority -d 'The file with the certificates that the server\'s must descend from' -r
complete -c kubectl-hpa -n "__fish_kubectl_hpa_using_subcommand apply" -l client-certificate -d 'The file with the client\'s certificate' -r
complete -c kubectl-hpa -n "__fish_kubectl_hpa_using_subcommand apply" -l client-key -d 'The file with the client\'s private key' -r
complete -c kubectl-hpa -n "__fish_kubectl_hpa_using_subcommand apply" -l insecure-skip-tls-verify -d 'Believe any certificate of the server' -r
complete -c kubectl-hpa -n "__fish_kubectl_hpa_using_subcommand apply" -l tls-server-name -d 'The name that the server\'s certificate must carry' -r
complete -c kubectl-hpa -n "__fish_kubectl_hpa_using_subcommand apply" -l request-timeout -d 'The time for one request, such as 5s; 0 for no limit (default 10s)' -r
complete -c kubectl-hpa -n "__fish_kubectl_hpa_using_subcommand apply" -l disable-compression -d 'Ask for answers without compression' -r
complete -c kubectl-hpa -n "__fish_kubectl_hpa_using_subcommand apply" -s v -l v -d 'How much to tell about requests, 0 to 9' -r
complete -c kubectl-hpa -n "__fish_kubectl_hpa_using_subcommand apply" -l warnings-as-errors -d 'Fail when the server sends a warning' -r
complete -c kubectl-hpa -n "__fish_kubectl_hpa_using_subcommand apply" -l color -d 'Whether to use colours; NO_COLOR and CLICOLOR_FORCE are honoured' -r -f -a "auto\t'On a terminal that shows them'
always\t'Always'
never\t'Never'"
complete -c kubectl-hpa -n "__fish_kubectl_hpa_using_subcommand apply" -s y -l yes -d 'Write without asking; needed where nobody can be asked'
complete -c kubectl-hpa -n "__fish_kubectl_hpa_using_subcommand apply" -l ignore-stabilization -d 'Take no past recommendation into account; rate limits and bounds hold'
complete -c kubectl-hpa -n "__fish_kubectl_hpa_using_subcommand apply" -l force-uncertain -d 'Write an answer that is not certain, too; what is uncertain is named'
complete -c kubectl-hpa -n "__fish_kubectl_hpa_using_subcommand apply" -l write-status -d 'Also write the status of the HPA, where no controller manager holds its lease'
complete -c kubectl-hpa -n "__fish_kubectl_hpa_using_subcommand apply" -l force-write-status -d 'Write the status also where a controller manager holds its lease, or may'
complete -c kubectl-hpa -n "__fish_kubectl_hpa_using_subcommand apply" -l event -d 'Also send the controller\'s event about the HPA, from kubectl-hpa'
complete -c kubectl-hpa -n "__fish_kubectl_hpa_using_subcommand apply" -s h -l help -d 'Print help (see more with \'--help\')'
