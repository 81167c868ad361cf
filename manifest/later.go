package manifest

import (
	"fmt"
	"strings"
)

const toolApply = "apply"

func ruleKeyOf(key string) string { return key[strings.LastIndexByte(key, '/')+1:] }

func formatSeconds(s int64) string { return fmt.Sprintf("%ds", s) }
