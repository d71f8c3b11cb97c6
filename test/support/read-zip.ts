import { execFileSync } from 'node:child_process';

const readZip = `
import sys, zipfile, json
z = zipfile.ZipFile(sys.argv[1])
bad = z.testzip()
print(json.dumps({"bad": bad, "names": z.namelist(), "first": z.read(z.namelist()[0]).decode("utf8", "replace")[:80], "count": len(z.namelist())}))
`;

/** What Python's zipfile makes of an archive: the first member whose CRC is wrong, the names, how many. */
export function zipWith(path: string): { bad: string | null; names: string[]; count: number } {
  return JSON.parse(execFileSync('python3', ['-c', readZip, path], { encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 }));
}
