"""The outside, once per technology: `local` for a laptop, `aws` for an account. Both keep the promises of `ports`."""
