anamnesis completion fish | source
