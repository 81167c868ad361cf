// SPDX-License-Identifier: Apache-2.0
// Shows the document of this very server. "Authorize" takes an API key or a
// token, which stays in this tab; nothing is asked of any other host.
window.addEventListener("load", () => {
  window.ui = SwaggerUIBundle({
    url: "/openapi.json",
    dom_id: "#docs",
    deepLinking: true,
    displayRequestDuration: true,
    docExpansion: "list",
    filter: true,
    tryItOutEnabled: true,
    validatorUrl: null,
  });
});
