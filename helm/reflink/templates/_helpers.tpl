{{- define "reflink.name" -}}
{{- .Values.nameOverride | default .Chart.Name | trunc 40 | trimSuffix "-" -}}
{{- end -}}

{{/* Prefix of all object names. With the name of a worker, a StatefulSet may have at most 52 characters. */}}
{{- define "reflink.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 30 | trimSuffix "-" -}}
{{- else if contains (include "reflink.name" .) .Release.Name -}}
{{- .Release.Name | trunc 30 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "reflink.name" .) | trunc 30 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{/* Labels of every object. Takes root and component. */}}
{{- define "reflink.labels" -}}
{{ include "reflink.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" }}
{{- end -}}

{{/* Labels of pods, without labels that an upgrade of the chart alone would change. Takes root, component and workload. */}}
{{- define "reflink.podLabels" -}}
{{ include "reflink.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
{{- end -}}

{{/* Labels that select pods; they never change after the installation. `workload` is the name under `workers`: two pools may run the same worker. */}}
{{- define "reflink.selector" -}}
app.kubernetes.io/name: {{ include "reflink.name" .root | quote }}
app.kubernetes.io/instance: {{ .root.Release.Name | quote }}
{{- with .component }}
app.kubernetes.io/component: {{ . }}
{{- end }}
{{- with .workload }}
reflink/workload: {{ . | quote }}
{{- end }}
{{- end -}}

{{/* Takes root, image (an object with overrides) and gpu (whether to use the GPU image). */}}
{{- define "reflink.image" -}}
{{- $image := mergeOverwrite (deepCopy .root.Values.image) (.image | default dict) -}}
{{- $tag := $image.tag | default .root.Chart.AppVersion -}}
{{- if and .gpu .root.Values.image.digest (not (.image | default dict).digest) -}}
{{- fail "image.digest is that of one image, and pods with a GPU need another: set workers.<name>.image.digest, or tags" -}}
{{- end -}}
{{- if and .gpu (not (.image | default dict).tag) -}}{{- $tag = printf "%s%s" $tag $image.gpuSuffix -}}{{- end -}}
{{- if $image.digest -}}
{{- printf "%s@%s" $image.repository $image.digest -}}
{{- else -}}
{{- printf "%s:%s" $image.repository $tag -}}
{{- end -}}
{{- end -}}

{{/* Value of a setting as an environment variable: without exponents, and with `true` in lower case. */}}
{{- define "reflink.text" -}}
{{- if kindIs "string" . -}}{{ . }}{{- else -}}{{ toJson . }}{{- end -}}
{{- end -}}

{{/* Fields of all pods. Takes root. */}}
{{- define "reflink.pod" -}}
{{- /* A hook before the install runs when no account was made yet. */}}
{{- if not (and .hook .root.Values.serviceAccount.create) -}}
serviceAccountName: {{ include "reflink.serviceAccount" .root }}
{{ end -}}
automountServiceAccountToken: false
# Otherwise Kubernetes sets REFLINK_… variables for services, which look like settings.
enableServiceLinks: false
{{- with .root.Values.imagePullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
securityContext:
  runAsNonRoot: true
  runAsUser: 10001
  runAsGroup: 10001
  fsGroup: 10001
  fsGroupChangePolicy: OnRootMismatch
  seccompProfile:
    type: RuntimeDefault
{{- end -}}

{{/* Security context of all containers. */}}
{{- define "reflink.container" -}}
securityContext:
  runAsNonRoot: true
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities:
    drop: [ALL]
{{- end -}}

{{- define "reflink.serviceAccount" -}}
{{- if .Values.serviceAccount.create -}}
{{- .Values.serviceAccount.name | default (include "reflink.fullname" .) -}}
{{- else -}}
{{- .Values.serviceAccount.name | default "default" -}}
{{- end -}}
{{- end -}}

{{/* Scheduling of a pod. Takes an object with nodeSelector, tolerations, affinity, priorityClassName, runtimeClassName. */}}
{{- define "reflink.placing" -}}
{{- with .nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .affinity }}
affinity: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with .runtimeClassName }}
runtimeClassName: {{ . }}
{{- end }}
{{- end -}}

{{/* Resources with the GPUs of `gpu` among their limits. */}}
{{- define "reflink.resources" -}}
{{- $resources := deepCopy (.resources | default dict) -}}
{{- $gpu := .gpu | default dict -}}
{{- if $gpu.count -}}
{{- $limits := deepCopy ($resources.limits | default dict) -}}
{{- $_ := set $limits ($gpu.resource | default "nvidia.com/gpu") (int $gpu.count) -}}
{{- $_ := set $resources "limits" $limits -}}
{{- end -}}
{{- toYaml $resources -}}
{{- end -}}

{{/* Variables with the number of threads: the value, or the requested CPUs, rounded up. Takes threads, resources, names. */}}
{{- define "reflink.threads" -}}
{{- $cpu := dig "requests" "cpu" "" (.resources | default dict) | toString -}}
{{- $threads := .threads -}}
{{- if and (not $threads) $cpu -}}
{{- $threads = ternary (divf (trimSuffix "m" $cpu) 1000) $cpu (hasSuffix "m" $cpu) | float64 | ceil -}}
{{- end -}}
{{- if $threads }}
{{- range .names }}
- name: {{ . }}
  value: {{ $threads | int | toString | quote }}
{{- end }}
{{- end }}
{{- end -}}
