"""Does a diagnosis hold? Decided from recorded answers and stored bytes alone: no chat model, no cloud, no agent."""
