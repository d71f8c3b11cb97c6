/** Why something was refused, by what the service says in English. The first that matches counts. */
const patterns = [
  [/^Path not found\.$/, 'gone'],
  [/^(Permission denied\.|The file system is read-only\.)$/, 'forbidden'],
  [/^This name is reserved\.$/, 'reserved'],
  [/ is locked\.$/, 'locked'],
  [/ is in use\.$/, 'inUse'],
  [/ already exists\.$| has this name\.$| is a folder\.$| must not be overwritten\.$/, 'taken'],
  [/ is not empty\.$/, 'notEmpty'],
  [/^A (name|target) must |^The name is too long\.$| does not accept this name\.$/, 'badName'],
  [/virtual folders/, 'fixed'],
  [/ is full\.$| is used up\.$/, 'full'],
  [/ not be larger than | is too large /, 'tooLarge'],
  [/ into itself\.$| are the same\.$| holds the source\.$/, 'itself'],
] as const;

type ReasonName = (typeof patterns)[number][1];

/** English is what the service says itself. */
const texts: Readonly<Record<string, Readonly<Record<ReasonName, string>>>> = {
  de: {
    gone: 'gibt es nicht mehr',
    forbidden: 'dafür fehlt die Berechtigung',
    reserved: 'der Name ist vergeben an den Dienst selbst',
    locked: 'ist durch jemand anderen gesperrt',
    inUse: 'wird gerade benutzt',
    taken: 'der Name ist schon vergeben',
    notEmpty: 'der Ordner ist nicht leer',
    badName: 'dieser Name ist nicht möglich',
    fixed: 'dieser Ordner gehört fest zum Konto',
    full: 'der Speicher ist voll',
    tooLarge: 'ist zu groß',
    itself: 'das Ziel liegt in der Quelle oder ist dieselbe',
  },
  fr: {
    gone: 'n’existe plus',
    forbidden: 'vous n’en avez pas le droit',
    reserved: 'ce nom est réservé au service',
    locked: 'est verrouillé par quelqu’un d’autre',
    inUse: 'est en cours d’utilisation',
    taken: 'ce nom est déjà pris',
    notEmpty: 'le dossier n’est pas vide',
    badName: 'ce nom n’est pas possible',
    fixed: 'ce dossier fait partie du compte',
    full: 'le stockage est plein',
    tooLarge: 'est trop volumineux',
    itself: 'la destination est dans la source ou la même',
  },
  es: {
    gone: 'ya no existe',
    forbidden: 'no tiene permiso para ello',
    reserved: 'este nombre está reservado al servicio',
    locked: 'está bloqueado por otra persona',
    inUse: 'está en uso',
    taken: 'este nombre ya está ocupado',
    notEmpty: 'la carpeta no está vacía',
    badName: 'este nombre no es posible',
    fixed: 'esta carpeta forma parte de la cuenta',
    full: 'el almacenamiento está lleno',
    tooLarge: 'es demasiado grande',
    itself: 'el destino está dentro del origen o es el mismo',
  },
};

/**
 * Writes what the service says of one target in the reader's language.
 *
 * @param message in English; of a member of a deleted folder with its path before it (`sub/a.txt: Permission denied.`)
 * @returns undefined when there are no words for it but the service's own
 */
export function reasonIn(language: string, message: string): string | undefined {
  if (language === 'en') return message;
  const cut = message.lastIndexOf(': ') + 1;
  const said = cut === 0 ? message : message.slice(cut + 1);
  const name = patterns.find(([pattern]) => pattern.test(said))?.[1];
  const text = name && texts[language]?.[name];
  return text && (cut === 0 ? text : `${message.slice(0, cut)} ${text}`);
}
