"""What users may test their own rules and channels with: servers that speak real wire formats and fail on demand."""
