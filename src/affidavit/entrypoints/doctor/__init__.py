"""What `affidavit doctor` and the console say of this installation."""
