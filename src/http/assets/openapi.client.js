// Starts Swagger UI on this service's own description. Same origin only: no validator badge, no remote documents.
window.addEventListener('load', () => {
  window.SwaggerUIBundle({
    url: '/__svc__/openapi.yaml',
    dom_id: '#api',
    deepLinking: true,
    validatorUrl: null,
    queryConfigEnabled: false,
  });
});
