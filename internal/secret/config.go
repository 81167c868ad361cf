// SPDX-License-Identifier: Apache-2.0

package secret

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/vigil-monitor/vigil"
)

// Fields describes which members of a config are secret. It follows the
// shape of the config; a list has the fields of its items. The zero value
// describes a config without secrets. The registries of probe and notify make it
// from the secret tags of their config structs.
type Fields struct {
	// Secret marks a text as a secret.
	Secret bool `json:"secret,omitempty"`
	// Address says of a secret that it is an address: scheme, host and port are shown.
	Address bool `json:"address,omitempty"`
	// Query marks an address of which the values of parameters with the names of
	// credentials are secret; see IsCredentialParameter.
	Query bool `json:"query,omitempty"`
	// If names a member beside a text: the text is secret where that is true.
	If string `json:"if,omitempty"`
	// ByName marks the texts, at any depth, whose member's name says that they
	// are credentials, as in a map of HTTP headers; see IsCredentialName.
	ByName bool `json:"by_name,omitempty"`
	// Members describes the members of an object that are or hold secrets.
	Members map[string]Fields `json:"members,omitempty"`
	// ByType describes an object whose type is the value of the member "type"
	// beside it, as in the steps of a multistep check. An unknown type is
	// described by names.
	ByType map[vigil.CheckType]Fields `json:"by_type,omitempty"`
	// Places are the members of an object that say where its secrets go. They are not
	// part of the fingerprint, since they change nothing about what is sealed.
	Places []PlaceMember `json:"-"`
}

// Configs holds the secret members of the configs of all types. A type
// that it lacks is described by names, so that an unknown config is sealed and
// masked rather than shown.
type Configs struct {
	Checks   map[vigil.CheckType]Fields   `json:"checks"`
	Channels map[vigil.ChannelType]Fields `json:"channels"`
}

// Check returns the secret members of the configs of a check type.
func (c Configs) Check(t vigil.CheckType) Fields { return fieldsOf(c.Checks, t) }

// Channel returns the secret members of the configs of a channel type.
func (c Configs) Channel(t vigil.ChannelType) Fields { return fieldsOf(c.Channels, t) }

func fieldsOf[T comparable](types map[T]Fields, t T) Fields {
	if fields, ok := types[t]; ok {
		return fields
	}
	return Fields{ByName: true}
}

// Fingerprint identifies the set of secret members, the credential words
// included. It changes when a member becomes secret that was not before.
func (c Configs) Fingerprint() (string, error) {
	text, err := json.Marshal(struct {
		Configs

		Words      []string `json:"words"`
		Parameters []string `json:"parameters"`
	}{c, credentialWords(), credentialParameters()})
	if err != nil {
		return "", fmt.Errorf("encode the secret members: %w", err)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), nil
}

// credentialWords are the parts of a name that say that its value is a
// credential.
func credentialWords() []string {
	return []string{
		"auth", "bearer", "cookie", "credential", "key", "passphrase", "password", "passwd", "secret", "session", "signature", "token",
	}
}

// CredentialParts are what IsCredentialParameter looks for, in lower case: parts of a name, and with = in
// front whole names.
func CredentialParts() []string {
	parts := credentialWords()
	for _, name := range credentialParameters() {
		parts = append(parts, "="+name)
	}
	return parts
}

// IsCredentialName reports whether the name of an HTTP header, or of another
// member with a free name, says that its value is a credential. Case does not
// matter.
func IsCredentialName(name string) bool {
	lower := strings.ToLower(name)
	return slices.ContainsFunc(credentialWords(), func(word string) bool { return strings.Contains(lower, word) })
}

// Mask returns the config with Mask in the place of every secret; of a secret address
// scheme, host and port are left before it. An empty secret stays empty. What is not JSON
// becomes null, since it cannot be searched for secrets.
func (f Fields) Mask(config json.RawMessage) json.RawMessage {
	if !f.mayOccur(config) {
		return config
	}
	masked, err := f.rewrite(config, mask)
	if err != nil {
		return json.RawMessage("null")
	}
	return masked
}

// mask is the change of a secret that hides it.
func mask(_, value string, fields Fields) (string, error) {
	if fields.Address {
		return MaskAddress(value), nil
	}
	return Mask, nil
}

// mayOccur reports whether a config can hold a secret, by a look at its bytes,
// which is faster than parsing it. A name with an escape needs parsing.
func (f Fields) mayOccur(config json.RawMessage) bool {
	if f.ByName || f.Secret || f.ByType != nil {
		return true
	}
	for name, inner := range f.Members {
		if inner.Query && !bytes.ContainsAny(config, "?#") || inner.If != "" && !bytes.Contains(config, []byte(`"`+inner.If+`"`)) {
			continue
		}
		if bytes.Contains(config, []byte(`"`+name+`"`)) {
			return true
		}
	}
	return len(f.Members) > 0 && bytes.Contains(config, []byte(`\u`))
}

// Values returns the secrets of a config, which an error, a log line or an
// answer must not repeat, those of a query as written and decoded; none for what is not JSON.
func (f Fields) Values(config json.RawMessage) []string {
	var found []string
	_, err := f.rewrite(config, func(_, value string, fields Fields) (string, error) {
		if fields.Query {
			found = append(found, knownForms(value)...)
		} else {
			found = append(found, value)
		}
		return value, nil
	})
	if err != nil {
		return nil
	}
	return found
}

// secretChange makes another text of a secret. The path is such as
// "steps.0.config.headers.Authorization"; of a value of a query, "url?token".
type secretChange func(path, value string, fields Fields) (string, error)

// rewrite gives every non-empty secret of a config to change. A config of which nothing changes
// comes back as it was, byte for byte.
func (f Fields) rewrite(config json.RawMessage, change secretChange) (json.RawMessage, error) {
	if len(config) == 0 {
		return config, nil
	}
	tree, err := DecodeTree(config)
	if err != nil {
		return nil, err
	}
	walk := secretWalk{change: change}
	tree, err = walk.visit(tree, f, "")
	if err != nil || !walk.changed {
		return config, err
	}
	return EncodeTree(tree)
}

// secretWalk changes the secrets of a decoded config.
type secretWalk struct {
	change  secretChange
	changed bool // whether any secret became another
}

// visit returns the node with its secrets changed. Members are visited in the
// order of their names, so that the first error is always the same one.
func (w *secretWalk) visit(node any, fields Fields, path string) (any, error) {
	switch node := node.(type) {
	case string:
		value, err := w.text(node, fields, path)
		w.changed = w.changed || value != node
		return value, err
	case []any:
		for i, item := range node {
			changed, err := w.visit(item, fields, join(path, strconv.Itoa(i)))
			if err != nil {
				return nil, err
			}
			node[i] = changed
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(node)) {
			changed, err := w.visit(node[name], fields.MemberOf(name, node), join(path, name))
			if err != nil {
				return nil, err
			}
			node[name] = changed
		}
	}
	return node, nil
}

// text returns a text with its secrets changed.
func (w *secretWalk) text(text string, fields Fields, path string) (string, error) {
	switch {
	case text == "":
		return text, nil
	case fields.Secret:
		return w.change(path, text, fields)
	case fields.Query:
		return RewriteParameters(text, func(name, value string) (string, error) {
			return w.change(path+"?"+name, value, Fields{Secret: true, Query: true})
		})
	}
	return text, nil
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// MemberOf returns the fields of one member of an object.
func (f Fields) MemberOf(name string, object map[string]any) Fields {
	return f.Member(name, func(beside string) any { return object[beside] })
}

// Member returns the fields of one member of an object. beside returns the value of another
// member: a text, a bool, or anything else for others.
func (f Fields) Member(name string, beside func(name string) any) Fields {
	if f.ByName {
		return Fields{ByName: true, Secret: IsCredentialName(name)}
	}
	inner := f.Members[name]
	if inner.If != "" {
		inner.Secret = beside(inner.If) == true
	}
	if inner.ByType == nil {
		return inner
	}
	kind, _ := beside("type").(string)
	return fieldsOf(inner.ByType, vigil.CheckType(kind))
}
