import { Hono } from 'hono';
import { routePath } from 'hono/route';
import type { RouterRoute } from 'hono/types';
import { isServiceError, ServiceError } from '../lib/errors.ts';
import { asOneMiddleware, type HttpContext, type HttpEnvironment, type HttpHandler, type HttpMiddleware } from './environment.ts';
import { respondToFault } from './fault-reply.ts';
import { sendAppearanceStyle, sendLogo } from './html/appearance.ts';
import { sendAsset, showLogin, showOpenapiPage } from './html/own-pages.ts';
import { postLanguage, postTheme } from './html/page-cookies.ts';
import { assets } from './html/pages/assets.ts';
import { showRecent } from './html/recent.ts';
import { authenticate, holdSession } from './middleware/authenticate.ts';
import { checkHead, checkOrigin, nameRequest, observeRequest } from './middleware/every-request.ts';
import { respond } from './reply/respond.ts';
import type { Exchange } from './request/exchange.ts';
import { routePathOf } from './request/request-target.ts';
import { getFile } from './rest/get-file.ts';
import { logout, postLogin } from './rest/login.ts';
import { getFolder, postFolder, redirectPostOfFolder, refuseMkcolBody } from './rest/members.ts';
import { showOpenapi } from './rest/openapi.ts';
import { showPasswordPage, updatePassword } from './rest/password-update.ts';
import { deleteFile, deleteFolder, makeCollection, putFile, putFolder } from './rest/put-delete.ts';
import { answerPreflight, describeRoot, isPreflight, redirectHome, refuseReserved, refuseServerTarget, refuseTarget } from './rest/root.ts';
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
import { lockMember, unlockMember } from './webdav/locks.ts';
import { propfind, refuseProperties } from './webdav/propfind.ts';
import { isClassTwo, optionsReply } from './webdav/webdav-class.ts';

/**
 * The Hono application that answers every URL of a service. It routes by the target that `parseRequestTarget` read once; what Hono itself
 * would make of the URL (`c.req.path`, `param`, `query`) is decoded once more, and nothing uses it. Which of Hono's own middleware is used and
 * which is not, and why: docs/design/decisions.md#http-connections-and-requests-http-httpconnection-httpmiddleware-httprequest-httpreply.
 */
export function createApp(): Hono<HttpEnvironment> {
  // Hono hands on what `fetch` was given.
  const getPath = (_: Request, options?: { env?: unknown }) => routePathOf((options as { env: Exchange }).env.target);
  const app = new Hono<HttpEnvironment>({ getPath });
  app.use(asOneMiddleware(nameRequest, observeRequest, checkHead, checkOrigin));
  addRoutes(app);
  app.onError((error, c) => {
    // RFC 9110 §15.5.6: what is not allowed is answered with what is.
    if (isServiceError(error, 'method-not-allowed')) error.details.allow = allowedMethods(app, c);
    return respondToFault(c, error);
  });
  app.notFound((c) => respondToFault(c, new ServiceError('not-found', 'Path not found.')));
  return app;
}

/** What a handler says of its route besides answering it. */
interface RouteTraits {
  condition?: (exchange: Exchange) => boolean;
  refusesHead?: boolean;
}

/** A route that only some requests have; the others go on to what ends the pattern. */
function when(condition: (exchange: Exchange) => boolean, handler: HttpHandler): HttpMiddleware & RouteTraits {
  const route: HttpMiddleware = async (c, next) => (condition(c.env) ? handler(c) : next());
  return Object.assign(route, { condition });
}

/** A GET that changes something, so that HEAD does not stand for it. */
function exceptHead(handler: HttpHandler): HttpMiddleware & RouteTraits {
  const route: HttpMiddleware = async (c, next) => (c.env.isHead ? next() : handler(c));
  return Object.assign(route, { refusesHead: true });
}

/** Ends a pattern. @throws ServiceError `method-not-allowed`, to which `onError` adds `allowedMethods` */
function refuse({ env: { method } }: HttpContext): never {
  throw new ServiceError('method-not-allowed', `${method} is not supported here.`);
}

/** The value of `Allow` for the URL of a request: the methods that the table of routes has for its pattern. */
export function allowedMethods({ routes }: Hono<HttpEnvironment>, c: HttpContext): string {
  const pattern = routePath(c);
  return methodsOf(
    routes.filter(({ path }) => path === pattern),
    c.env,
  );
}

/** The same for `OPTIONS *`: the methods that any URL of the service has. */
function allMethods({ routes }: Hono<HttpEnvironment>, c: HttpContext): string {
  return methodsOf(routes, c.env);
}

function methodsOf(routes: readonly RouterRoute[], exchange: Exchange): string {
  const methods = new Set<string>();
  for (const { method, handler } of routes) {
    const { condition, refusesHead } = handler as RouteTraits;
    if (method === 'ALL' || (condition && !condition(exchange))) continue;
    methods.add(method);
    if (method === 'GET' && !refusesHead) methods.add('HEAD');
  }
  return [...methods].join(', ');
}

const assetRoutes = [...assets.keys()].map((name) => `/service/${name}`);

/**
 * All that a service answers. Patterns are of canonical paths (`routePathOf`); GET stands for HEAD, too. What ends a pattern answers the
 * methods that it does not have.
 */
export function addRoutes(app: Hono<HttpEnvironment>): void {
  const allowed = (c: HttpContext) => allowedMethods(app, c);
  const describe: HttpHandler = (c) => respond(c, optionsReply(c.env, allowed(c)));
  const describeFile: HttpHandler = (c) => respond(c, withUploadLimit(c.env, optionsReply(c.env, allowed(c))));
  const describeServer: HttpHandler = (c) => respond(c, optionsReply(c.env, allMethods(app, c)));
  const describeOrRefuse: HttpHandler = (c) =>
    c.env.method === 'OPTIONS' ? respond(c, { status: 204, headers: { allow: allowed(c) } }) : refuse(c);

  // Browsers ask for pages of other origins before they send anything else.
  app.options('*', when(isPreflight, answerPreflight));

  // /home/…, a file. OPTIONS comes before the credentials, as WebDAV clients ask before they authenticate.
  app.options('/file/*', describeFile);
  app.use('/file/*', authenticate, holdSession);
  app.get('/file/*', getFile);
  app.put('/file/*', when(beginsUpload, putUpload));
  app.put('/file/*', putFile);
  app.delete('/file/*', deleteFile);
  app.on('PROPFIND', '/file/*', propfind);
  app.on('PROPPATCH', '/file/*', refuseProperties);
  app.on('COPY', '/file/*', copyMember);
  app.on('MOVE', '/file/*', moveMember);
  app.on('MKCOL', '/file/*', when(isCompatible, makeCollection));
  app.on('LOCK', '/file/*', when(isClassTwo, lockMember));
  app.on('UNLOCK', '/file/*', when(isClassTwo, unlockMember));
  app.all('/file/*', refuseMkcolBody, redirectPostOfFolder, refuse);

  // /home/…/, a folder.
  app.options('/folder/*', describe);
  app.use('/folder/*', authenticate, holdSession);
  app.get('/folder/*', getFolder);
  app.put('/folder/*', putFolder);
  app.delete('/folder/*', deleteFolder);
  app.post('/folder/*', postFolder);
  app.on('MKCOL', '/folder/*', makeCollection);
  app.on('PROPFIND', '/folder/*', propfind);
  app.on('PROPPATCH', '/folder/*', refuseProperties);
  app.on('COPY', '/folder/*', copyMember);
  app.on('MOVE', '/folder/*', moveMember);
  app.on('LOCK', '/folder/*', when(isClassTwo, lockMember));
  app.on('UNLOCK', '/folder/*', when(isClassTwo, unlockMember));
  app.all('/folder/*', refuse);

  // /home/__svc__/…, for those who have signed in. Browsers of other origins ask what there is before they sign in.
  app.on('OPTIONS', ['/account-service/uploads', '/account-service/uploads/*'], describeUploads(allowed));
  app.use('/account-service/uploads/*', answerAsTus);
  app.use('/account-service/*', authenticate);

  // Uploads that may take several requests, by tus and by the draft of HTTP's own.
  app.use('/account-service/uploads/*', holdSession);
  app.post('/account-service/uploads', when(speaksTus, createTusUpload));
  app.post('/account-service/uploads', postUpload);
  app.all('/account-service/uploads', refuse);
  app.get('/account-service/uploads/*', when(speaksTus, showTusUpload));
  app.get('/account-service/uploads/*', showUpload);
  app.patch('/account-service/uploads/*', when(speaksTus, appendTusUpload));
  app.patch('/account-service/uploads/*', appendToUpload);
  app.delete('/account-service/uploads/*', when(speaksTus, endTusUpload));
  app.delete('/account-service/uploads/*', cancelUpload);
  app.post('/account-service/uploads/*', overridden({ PATCH: appendTusUpload, DELETE: endTusUpload, HEAD: showTusUpload }));
  app.all('/account-service/uploads/*', refuse);

  app.get('/account-service/recent', showRecent);
  app.all('/account-service/recent', describeOrRefuse);
  app.get('/account-service/password-update', showPasswordPage);
  app.post('/account-service/password-update', updatePassword);
  app.all('/account-service/password-update', describeOrRefuse);
  app.all('/account-service/*', refuseReserved);

  // /__svc__/…, for everybody.
  app.get('/service/login', showLogin);
  app.post('/service/login', postLogin);
  app.all('/service/login', describeOrRefuse);
  app.get('/service/logout', exceptHead(logout));
  app.post('/service/logout', logout);
  app.all('/service/logout', describeOrRefuse);
  app.post('/service/theme', postTheme);
  app.all('/service/theme', describeOrRefuse);
  app.post('/service/language', postLanguage);
  app.all('/service/language', describeOrRefuse);
  app.get('/service/appearance.css', sendAppearanceStyle);
  app.all('/service/appearance.css', describeOrRefuse);
  app.get('/service/logo', sendLogo);
  app.all('/service/logo', describeOrRefuse);
  app.get('/service/openapi.yaml', showOpenapi);
  app.all('/service/openapi.yaml', describeOrRefuse);
  app.get('/service/openapi.html', showOpenapiPage);
  app.all('/service/openapi.html', describeOrRefuse);
  app.on('GET', assetRoutes, sendAsset);
  app.on('ALL', assetRoutes, refuse);

  // /, /home and *.
  app.on('OPTIONS', ['/root', '/home'], describeRoot);
  app.on('ALL', ['/root', '/home'], redirectHome);
  app.options('/server', describeServer);
  app.all('/server', refuseServerTarget);
  app.all('/refused', refuseTarget);
}

function isCompatible({ service }: Exchange): boolean {
  return service.options.webdav_compatibility;
}
