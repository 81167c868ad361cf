# By the id, by the project and key of managed_by, or by the name.
terraform import vigil_notification_channel.on_call 01a20524-d1fc-7aab-9731-2d2a60925aab
terraform import vigil_notification_channel.on_call "name:On-call hook"
