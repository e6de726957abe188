"""Who runs the hooks of a repository: git alone, husky, lefthook, the pre-commit framework, git's configuration."""
