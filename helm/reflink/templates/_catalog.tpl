{{/*
Sources of catalog snapshots. `volume`: a shared claim that the CronJob writes; a worker reads it in place or copies it.
`init`: an image and a command of the operator put a snapshot on a volume of the pod. Without a snapshot, a worker reads the
topic from its beginning.
*/}}
{{- define "reflink.catalog.claim" -}}
{{- .Values.catalog.volume.existingClaim | default (printf "%s-catalogs" (include "reflink.fullname" .)) -}}
{{- end -}}

{{/* Containers that run before the worker. Takes root and worker. */}}
{{- define "reflink.catalog.init" -}}
{{- $catalog := .root.Values.catalog -}}
{{- if eq $catalog.source "init" }}
{{- if not (and $catalog.init.image $catalog.init.command) }}
{{- fail "catalog.source is init: catalog.init.image and catalog.init.command are needed" }}
{{- end }}
- name: bring-catalog
  image: {{ $catalog.init.image }}
  imagePullPolicy: {{ .root.Values.image.pullPolicy }}
  command: {{- toYaml $catalog.init.command | nindent 4 }}
  {{- include "reflink.container" . | nindent 2 }}
  {{- with $catalog.init.env }}
  env: {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $catalog.init.envFrom }}
  envFrom: {{- toYaml . | nindent 4 }}
  {{- end }}
  resources: {{- toYaml $catalog.init.resources | nindent 4 }}
  volumeMounts:
    - name: catalogs
      mountPath: /var/lib/reflink/catalogs
    - name: scratch
      mountPath: /tmp
{{- end }}
{{- end -}}

{{/* Volumes of a worker that follows the catalog. Takes root and worker. */}}
{{- define "reflink.catalog.volumes" -}}
{{- $catalog := .root.Values.catalog -}}
{{- if eq $catalog.source "init" }}
- name: catalogs
  {{- toYaml $catalog.init.volume | nindent 2 }}
{{- else }}
- name: catalogs
  persistentVolumeClaim:
    claimName: {{ include "reflink.catalog.claim" .root }}
{{- if .worker.copies }}
- name: catalog-copy
  {{- with $catalog.volume.copyStorageClassName }}
  ephemeral:
    volumeClaimTemplate:
      spec:
        accessModes: [ReadWriteOnce]
        storageClassName: {{ . }}
        resources:
          requests:
            storage: {{ $catalog.volume.copySize }}
  {{- else }}
  emptyDir:
    sizeLimit: {{ $catalog.volume.copySize }}
  {{- end }}
{{- end }}
{{- end }}
{{- end -}}
