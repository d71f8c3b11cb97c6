// Starts Swagger UI on this service's own description. Same origin only: no validator badge, no remote documents.
const darkSystem = matchMedia('(prefers-color-scheme: dark)');

/** The colours of the frame, which the reader chose or the system says. */
function showColours() {
  const { classList, dataset } = document.documentElement;
  classList.toggle('dark-mode', dataset.theme === undefined ? darkSystem.matches : dataset.theme === 'dark');
}

showColours();
darkSystem.addEventListener('change', showColours);

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

/** Names for what has none, by what stands around it. */
function nameOf(field) {
  const parameter = field.closest('[data-param-name]')?.dataset.paramName;
  if (parameter) return parameter;
  return field.id === 'servers' ? 'Server' : 'Request body';
}

/** Parts of the page that stand outside its main part. */
const regions = { '.information-container': 'About this API', '.scheme-container': 'Server and credentials' };

const set = (element, name, value) => element.getAttribute(name) === value || element.setAttribute(name, value);

// Swagger UI leaves out what readers of the screen need: names, levels of headings, roles. It renders again and again, so does this.
function mend() {
  const each = (selector, action) => document.querySelectorAll(`#api ${selector}`).forEach(action);
  for (const level of ['3', '4', '5']) each(`h${level}`, (heading) => set(heading, 'aria-level', String(level - 1)));
  for (const [selector, name] of Object.entries(regions)) {
    each(selector, (region) => {
      set(region, 'role', 'region');
      set(region, 'aria-label', name);
    });
  }
  // A link in a button cannot be reached; the button opens the same.
  each('.opblock-summary-control a[href]', (link) => link.removeAttribute('href'));
  each('select:not([aria-label]), textarea:not([aria-label]), [data-param-name] input:not([aria-label])', (field) =>
    set(field, 'aria-label', nameOf(field)),
  );
  each('table[role=region]', (table) => table.removeAttribute('role'));
  each('.close-modal', (button) => set(button, 'aria-label', 'Close'));
  each('.dialog-ux', (dialog) => {
    set(dialog, 'role', 'dialog');
    set(dialog, 'aria-modal', 'true');
    set(dialog, 'aria-label', 'Available authorizations');
  });
  each('button[aria-label]', (button) => {
    const [text, label] = [button.textContent.trim(), button.getAttribute('aria-label')];
    if (!label.toLowerCase().includes(text.toLowerCase())) button.setAttribute('aria-label', `${text}: ${label}`);
  });
}

window.addEventListener('load', () => {
  new MutationObserver(mend).observe(document.getElementById('api'), { childList: true, subtree: true });
  mend();
});
