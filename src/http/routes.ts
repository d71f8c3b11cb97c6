import { type Handler, Hono } from 'hono';
import { routePath } from 'hono/route';
import type { RouterRoute } from 'hono/types';
import { isServiceError, ServiceError } from '../lib/errors.ts';
import { respondToFault } from './fault-reply.ts';
import { sendAppearanceStyle, sendLogo } from './html/appearance.ts';
import { showExpectations } from './html/due-page.ts';
import { postHeldForm } from './html/held-page.ts';
import { postLanguage, postTheme } from './html/page-cookies.ts';
import { showOpenapiPage } from './html/page-replies.ts';
import { assets, sendAsset } from './html/pages/assets.ts';
import { showRecent } from './html/recent.ts';
import { postTrashForm } from './html/trash-page.ts';
import { isDrop, visit } from './links/visit.ts';
import { getLinked, postLinked } from './links/visitor-requests.ts';
import { authenticate, holdSession } from './middleware/authenticate.ts';
import { receive } from './middleware/every-request.ts';
import type { Reply } from './reply/reply.ts';
import { respond } from './reply/respond.ts';
import type { Exchange, HttpEnvironment, HttpHandler } from './request/exchange.ts';
import { canonicalPath } from './request/request-target.ts';
import { getFile } from './rest/get-file.ts';
import { listHeld, showHeld, withdrawHeld } from './rest/held-uploads.ts';
import { changeLink, listLinks, postLinks, revokeLink } from './rest/links.ts';
import { logout, postLogin, showLogin } from './rest/login.ts';
import { getFolder, postFolder, redirectPostOfFolder } from './rest/members.ts';
import { showOpenapi } from './rest/openapi.ts';
import { showPasswordPage, updatePassword } from './rest/password-update.ts';
import { deleteFile, deleteFolder, makeCollection, putFile, putFolder, refuseMkcolBody } from './rest/put-delete.ts';
import {
  answerPreflight,
  isPreflight,
  redirectHome,
  refuseReserved,
  refuseServerTarget,
  refuseTarget,
  sendSecurityText,
} from './rest/root.ts';
import { listTokens, postTokens, revokeToken, rotateToken } from './rest/tokens.ts';
import { emptyTrash, endTrashed, restoreTrashed, showTrash } from './rest/trash.ts';
import { appendToUpload, beginsUpload, cancelUpload, postUpload, putUpload, showUpload } from './uploads/draft.ts';
import {
  answerAsTus,
  appendTusUpload,
  createTusUpload,
  describeUploads,
  endTusUpload,
  overridden,
  showTusUpload,
  speaksTus,
  withUploadLimit,
} from './uploads/tus.ts';
import { copyMember, moveMember } from './webdav/copy-move.ts';
import { isClassTwo, lockMember, optionsReply, unlockMember } from './webdav/locks.ts';
import { propfind, refuseProperties } from './webdav/propfind.ts';

/** Properties of a route besides its method. `Allow` depends on them, too. */
interface RouteTraits {
  /** Returns whether this route handles a request. If not, the later routes of the pattern are tried. */
  condition?: (exchange: Exchange) => boolean;
  /** Whether HEAD is refused, because the GET of this route changes something. */
  refusesHead?: boolean;
}

type AddRoute = (methods: string, patterns: string | readonly string[], handler: HttpHandler, traits?: RouteTraits) => void;

/** Handlers by pattern and method, for routes whose OPTIONS reply only lists the methods. */
const plainRoutes: Readonly<Record<string, Readonly<Record<string, HttpHandler>>>> = {
  '/account-service/recent': { GET: showRecent },
  '/account-service/expectations': { GET: showExpectations },
  '/account-service/password-update': { GET: showPasswordPage, POST: updatePassword },
  '/service/login': { GET: showLogin, POST: postLogin },
  '/service/logout': { GET: logout, POST: logout },
  '/service/theme': { POST: postTheme },
  '/service/language': { POST: postLanguage },
  '/service/appearance.css': { GET: sendAppearanceStyle },
  '/service/logo': { GET: sendLogo },
  '/service/openapi.yaml': { GET: showOpenapi },
  '/service/openapi.html': { GET: showOpenapiPage },
  '/well-known/security.txt': { GET: sendSecurityText },
};

/**
 * Creates the Hono application that answers all URLs of a service. The route depends on the target that `parseRequestTarget` has already
 * read. Do not use `c.req.path`, `param` or `query`, because Hono would decode the URL again. Why none of Hono's middleware is used:
 * docs/design/decisions.md#http-connections-and-requests-http-httpconnection-httpmiddleware-httprequest-httpreply.
 */
export function createApp(): Hono<HttpEnvironment> {
  // Hono passes the second argument of `fetch` to this function.
  const getPath = (_: Request, options?: { env?: unknown }) => canonicalPath((options as { env: Exchange }).env.target);
  const app = new Hono<HttpEnvironment>({ getPath });
  app.use(receive);
  addRoutes(app);
  app.onError((error, c) => {
    // A 405 must list the allowed methods (RFC 9110 §15.5.6).
    if (isServiceError(error, 'method-not-allowed')) error.details.allow = allowedMethods(app.routes, c);
    return respondToFault(c.env, error);
  });
  app.notFound((c) => respondToFault(c.env, new ServiceError('not-found', 'Path not found.')));
  return app;
}

/**
 * Adds all routes of a service. Patterns are canonical paths (`canonicalPath`). GET includes HEAD. The last route of each pattern refuses
 * the request.
 */
function addRoutes(app: Hono<HttpEnvironment>): void {
  const on: AddRoute = (methods, patterns, handler, { condition, refusesHead } = {}) => {
    const route: Handler<HttpEnvironment> = ({ env }, next) =>
      condition?.(env) === false || (refusesHead && env.isHead) ? next() : handler(env);
    app.on(methods, [patterns].flat() as string[], Object.assign(route, { condition, refusesHead }));
  };
  const describing =
    (reply: (exchange: Exchange, allow: string) => Reply): Handler<HttpEnvironment> =>
    (c) =>
      respond(c.env, reply(c.env, allowedMethods(app.routes, c)));
  const describePlain = describing((_, allow) => ({ status: 204, headers: { allow } }));
  const describeOrRefuse: Handler<HttpEnvironment> = (c, next) => (c.env.method === 'OPTIONS' ? describePlain(c, next) : refuse(c.env));

  // Browsers send a preflight before a request from a page of another origin.
  on('OPTIONS', '*', answerPreflight, { condition: isPreflight });

  // A file (/home/…) or a folder (/home/…/). OPTIONS needs no credentials, because WebDAV clients send it before they authenticate.
  const members = ['/file/*', '/folder/*'];
  app.options(
    '/file/*',
    describing((exchange, allow) => withUploadLimit(exchange, optionsReply(exchange, allow))),
  );
  app.options('/folder/*', describing(optionsReply));
  for (const pattern of members) app.use(pattern, authenticate, holdSession);
  on('GET', '/file/*', getFile);
  on('GET', '/folder/*', getFolder);
  on('PUT', '/file/*', putUpload, { condition: beginsUpload });
  on('PUT', '/file/*', putFile);
  on('PUT', '/folder/*', putFolder);
  on('DELETE', '/file/*', deleteFile);
  on('DELETE', '/folder/*', deleteFolder);
  on('POST', '/folder/*', postFolder);
  on('MKCOL', '/folder/*', makeCollection);
  on('PROPFIND', members, propfind);
  on('PROPPATCH', members, refuseProperties);
  on('COPY', members, copyMember);
  on('MOVE', members, moveMember);
  on('MKCOL', '/file/*', makeCollection, { condition: ({ service }) => service.options.webdav_compatibility });
  on('LOCK', members, lockMember, { condition: isClassTwo });
  on('UNLOCK', members, unlockMember, { condition: isClassTwo });
  app.all('/file/*', refuseMkcolBody, redirectPostOfFolder);
  on('ALL', members, refuse);

  addLinkRoutes(app, on);

  // /home/__svc__/…, for authenticated clients. Browsers send OPTIONS for pages of other origins before they authenticate.
  const [uploads, upload] = ['/account-service/uploads', '/account-service/uploads/*'] as const;
  app.on('OPTIONS', [uploads, upload], describing(describeUploads));
  app.use(upload, answerAsTus);
  app.use('/account-service/*', authenticate);

  // Uploads that can take several requests, with tus or with the HTTP working group's draft.
  app.use(upload, holdSession);
  on('POST', uploads, createTusUpload, { condition: speaksTus });
  on('POST', uploads, postUpload);
  on('ALL', uploads, refuse);
  on('GET', upload, showTusUpload, { condition: speaksTus });
  on('GET', upload, showUpload);
  on('PATCH', upload, appendTusUpload, { condition: speaksTus });
  on('PATCH', upload, appendToUpload);
  on('DELETE', upload, endTusUpload, { condition: speaksTus });
  on('DELETE', upload, cancelUpload);
  app.post(upload, overridden);
  on('ALL', upload, refuse);

  on('GET', '/account-service/trash', showTrash);
  on('POST', '/account-service/trash', postTrashForm);
  on('DELETE', '/account-service/trash', emptyTrash);
  on('DELETE', '/account-service/trash/:id', endTrashed);
  on('POST', '/account-service/trash/:id/restore', restoreTrashed);
  app.on('ALL', ['/account-service/trash', '/account-service/trash/:id', '/account-service/trash/:id/restore'], describeOrRefuse);
  const [tokens, token, rotation] = [
    '/account-service/tokens',
    '/account-service/tokens/:id',
    '/account-service/tokens/:id/rotate',
  ] as const;
  on('GET', tokens, listTokens);
  on('POST', tokens, postTokens);
  on('DELETE', token, revokeToken);
  on('POST', rotation, rotateToken);
  app.on('ALL', [tokens, token, rotation], describeOrRefuse);
  const [links, link] = ['/account-service/links', '/account-service/links/:id'] as const;
  on('GET', links, listLinks);
  on('POST', links, postLinks);
  on('PATCH', link, changeLink);
  on('DELETE', link, revokeLink);
  app.on('ALL', [links, link], describeOrRefuse);
  const [held, heldUpload] = ['/account-service/held', '/account-service/held/:id'] as const;
  on('GET', held, listHeld);
  on('POST', held, postHeldForm);
  on('ALL', held, refuse);
  on('GET', heldUpload, showHeld);
  on('DELETE', heldUpload, withdrawHeld);
  on('ALL', heldUpload, refuse);

  for (const [pattern, handlers] of Object.entries(plainRoutes)) {
    for (const [method, handler] of Object.entries(handlers))
      on(method, pattern, handler, { refusesHead: method === 'GET' && handler === logout });
    app.all(pattern, describeOrRefuse);
  }
  on('ALL', '/account-service/*', refuseReserved);
  const assetRoutes = [...assets.keys()].map((name) => `/service/${name}`);
  on('GET', assetRoutes, sendAsset);
  on('ALL', assetRoutes, refuse);

  // /, /home and *. Windows Explorer and davfs2 send OPTIONS here before they request their own path.
  on('OPTIONS', ['/root', '/home'], (exchange) => respond(exchange, optionsReply(exchange, 'OPTIONS, GET, HEAD, PROPFIND')));
  on('ALL', ['/root', '/home'], redirectHome);
  on('OPTIONS', '/server', (exchange) => respond(exchange, optionsReply(exchange, listMethods(app.routes, exchange))));
  on('ALL', '/server', refuseServerTarget);
  on('ALL', '/refused', refuseTarget);
}

/** Adds the routes for visitors of links, below /__svc__/s/. All other requests are refused there. */
function addLinkRoutes(app: Hono<HttpEnvironment>, on: AddRoute): void {
  const [uploads, upload] = [['/link/file/uploads', '/link/folder/uploads'], '/link/file/uploads/*'] as const;
  const dropsByTus = (exchange: Exchange) => isDrop(exchange) && speaksTus(exchange);
  app.use('/link/*', answerAsTus, visit);
  on('POST', uploads, createTusUpload, { condition: dropsByTus });
  on('POST', uploads, postUpload, { condition: isDrop });
  on('GET', upload, showTusUpload, { condition: dropsByTus });
  on('GET', upload, showUpload, { condition: isDrop });
  on('PATCH', upload, appendTusUpload, { condition: dropsByTus });
  on('PATCH', upload, appendToUpload, { condition: isDrop });
  on('DELETE', upload, endTusUpload, { condition: dropsByTus });
  on('DELETE', upload, cancelUpload, { condition: isDrop });
  app.post(upload, async (c, next) => (isDrop(c.env) ? overridden(c, next) : next()));
  app.on('OPTIONS', [...uploads, upload], (c, next) =>
    isDrop(c.env) ? respond(c.env, describeUploads(c.env, allowedMethods(app.routes, c))) : next(),
  );
  on('ALL', [...uploads, upload], refuse, { condition: isDrop });
  on('GET', '/link/*', getLinked);
  on('PUT', '/link/file/*', putUpload, { condition: (exchange) => isDrop(exchange) && beginsUpload(exchange) });
  on('PUT', '/link/file/*', putFile, { condition: isDrop });
  on('POST', '/link/folder/*', postLinked);
  on('ALL', '/link/*', refuse);
}

/** Handles the last route of each pattern. @throws ServiceError `method-not-allowed`; `onError` adds `allowedMethods` */
function refuse({ method }: Exchange): never {
  throw new ServiceError('method-not-allowed', `${method} is not supported here.`);
}

/** Returns the value of `Allow` for a request: the methods of the pattern that its URL matches. */
function allowedMethods(routes: readonly RouterRoute[], c: Parameters<Handler<HttpEnvironment>>[0]): string {
  const ofPattern = routes.filter(({ path }) => path === routePath(c));
  return listMethods(ofPattern, c.env);
}

function listMethods(routes: readonly RouterRoute[], exchange: Exchange): string {
  const methods = new Set<string>();
  for (const { method, handler } of routes) {
    const { condition, refusesHead } = handler as RouteTraits;
    if (method === 'ALL' || condition?.(exchange) === false) continue;
    methods.add(method);
    if (method === 'GET' && !refusesHead) methods.add('HEAD');
  }
  return [...methods].join(', ');
}
