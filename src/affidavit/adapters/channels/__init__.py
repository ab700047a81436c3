"""Tells people through chats, pagers, webhooks and issues: one module per channel behind one table."""
