# By the id of the rule, or by the project and key of managed_by.
terraform import vigil_alert_rule.down 01a20525-3582-712d-98f1-ca2ec3ffc89c
