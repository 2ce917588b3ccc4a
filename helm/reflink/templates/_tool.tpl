{{/* Settings of a command that is not a worker, as environment variables: a hook runs before any ConfigMap exists. Takes root and kafka. */}}
{{- define "reflink.tool.env" -}}
{{- $settings := mergeOverwrite (deepCopy .root.Values.settings) (deepCopy (.settings | default dict)) (include "reflink.kafka.settings" . | fromYaml) -}}
{{- range $name, $value := $settings }}
- name: {{ $name }}
  value: {{ include "reflink.text" $value | quote }}
{{- end }}
- name: REFLINK_STATE_DIR
  value: /tmp/state
- name: REFLINK_SLOT
  valueFrom:
    fieldRef:
      fieldPath: metadata.name
{{- include "reflink.kafka.env" . }}
{{- end -}}
