package vigil

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// MaskSecrets returns a config with SecretMask in the place of every secret:
// the members named password, secret and routing_key at any depth, and in an
// object named headers the ones that carry credentials (Authorization,
// Proxy-Authorization, Cookie, X-Api-Key). An empty secret stays empty. What is
// not JSON becomes null, since it cannot be searched for secrets.
func MaskSecrets(config json.RawMessage) json.RawMessage {
	masked, err := rewriteSecrets(config, func(_, value string) (string, error) { return SecretMask, nil })
	if err != nil {
		return json.RawMessage("null")
	}
	return masked
}

// KeepSecrets returns config with every SecretMask in the place of a secret
// replaced by the stored config's secret at the same path. A mask with nothing
// stored behind it is a CodeInvalid error that names the member.
func KeepSecrets(config, stored json.RawMessage) (json.RawMessage, error) {
	known := make(map[string]string)
	if len(stored) > 0 {
		if _, err := rewriteSecrets(stored, func(path, value string) (string, error) {
			known[path] = value
			return value, nil
		}); err != nil {
			return nil, fmt.Errorf("stored config: %w", err)
		}
	}
	return rewriteSecrets(config, func(path, value string) (string, error) {
		if value != SecretMask {
			return value, nil
		}
		if kept, ok := known[path]; ok {
			return kept, nil
		}
		return "", Invalid("config."+path, "%q keeps a stored secret, and there is none here. Send the secret itself.", SecretMask)
	})
}

// rewriteSecrets gives every non-empty secret of a config to change, with its
// path such as "steps.0.config.headers.Authorization". A config without secrets
// comes back as it was, byte for byte.
func rewriteSecrets(config json.RawMessage, change func(path, value string) (string, error)) (json.RawMessage, error) {
	if len(config) == 0 {
		return config, nil
	}
	decoder := json.NewDecoder(bytes.NewReader(config))
	decoder.UseNumber()
	var tree any
	if err := decoder.Decode(&tree); err != nil {
		return nil, errors.New("config is not JSON")
	}
	changed, err := walkSecrets(tree, "", false, change)
	if err != nil || !changed {
		return config, err
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(tree); err != nil {
		return nil, fmt.Errorf("encode config: %w", err)
	}
	return bytes.TrimRight(out.Bytes(), "\n"), nil
}

// walkSecrets changes the secrets of a tree in place and says whether there was
// one to change. Members are visited in order, so that the first error is
// always the same one.
func walkSecrets(tree any, path string, headers bool, change func(path, value string) (string, error)) (changed bool, err error) {
	switch node := tree.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(node)) {
			at := strings.TrimPrefix(path+"."+name, ".")
			text, isText := node[name].(string)
			if isText && text != "" && isSecret(name, headers) {
				value, err := change(at, text)
				if err != nil {
					return false, err
				}
				node[name], changed = value, changed || value != text
				continue
			}
			inner, err := walkSecrets(node[name], at, strings.EqualFold(name, "headers"), change)
			if err != nil {
				return false, err
			}
			changed = changed || inner
		}
	case []any:
		for i, item := range node {
			inner, err := walkSecrets(item, strings.TrimPrefix(path+"."+strconv.Itoa(i), "."), false, change)
			if err != nil {
				return false, err
			}
			changed = changed || inner
		}
	}
	return changed, nil
}

// isSecret says whether the member of a config, or of its headers, is one.
func isSecret(name string, headers bool) bool {
	switch strings.ToLower(name) {
	case "password", "secret", "routing_key":
		return true
	case "authorization", "proxy-authorization", "cookie", "x-api-key":
		return headers
	}
	return false
}
