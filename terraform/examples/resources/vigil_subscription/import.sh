# By the id, or by the project and key of managed_by.
terraform import vigil_subscription.shop 01a20525-39d6-7210-b55c-073d8e6b9d8e
