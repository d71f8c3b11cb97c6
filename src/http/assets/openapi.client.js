// Starts Swagger UI on this service's own description. Same origin only: no validator badge, no remote documents.
window.addEventListener('load', () => {
  const ui = window.SwaggerUIBundle({
    url: '/__svc__/openapi.yaml',
    dom_id: '#api',
    deepLinking: true,
    validatorUrl: null,
    queryConfigEnabled: false,
    tryItOutEnabled: true,
    displayRequestDuration: true,
    requestInterceptor: (request) => {
      // A path parameter may hold several names; the service takes no encoded slash for one that separates them.
      const [path, query] = request.url.split('?', 2);
      if (path.includes('/home/')) request.url = path.replaceAll('%2F', '/') + (query === undefined ? '' : `?${query}`);
      // Without a choice of types the answers of the JSON API are wanted, not those for browsers.
      const accept = request.headers.accept ?? request.headers.Accept ?? '*/*';
      if (accept === '*/*') request.headers.accept = 'application/json';
      // The browser's own password dialog stays away when a session is over.
      request.headers['X-Requested-With'] = 'XMLHttpRequest';
      return request;
    },
    responseInterceptor: (reply) => {
      // A session that was begun here is in force here at once.
      if (reply.status === 200 && new URL(reply.url).pathname === '/__svc__/login') {
        const id = JSON.parse(reply.text)?.results?.[0]?.session;
        if (id) ui.preauthorizeApiKey('session', `session ${id}`);
      }
      return reply;
    },
  });
});
