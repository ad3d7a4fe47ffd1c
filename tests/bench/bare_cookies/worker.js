/**
 * The least that an extension has to do to set, read and clear the cookies of the profile: the calls of
 * `chrome.cookies` alone, all at once. The benchmark calls these functions.
 */

const URL_OF = ({ secure, domain }) => `http${secure ? 's' : ''}://${domain}/`;

/** What `chrome.cookies` takes for a cookie of the benchmark, in the form of CDP. */
const detailsOf = ({ domain, expires, ...cookie }) => ({
  url: URL_OF({ ...cookie, domain }),
  expirationDate: expires,
  ...cookie,
});

let details = [];

globalThis.prepare = (cookies) => {
  details = cookies.map(detailsOf);
};

const setEach = (each) => Promise.all(each.map((detail) => chrome.cookies.set(detail)));

const readAll = () => chrome.cookies.getAll({ partitionKey: {} });

globalThis.setCookies = async () => (await setEach(details)).length;

globalThis.getCookies = async () => (await readAll()).length;

/** Removing them with `chrome.cookies.remove` takes twenty times as long. */
globalThis.clearCookies = async () => {
  const expired = (await readAll()).map(({ name, value, secure, domain, partitionKey }) => ({
    url: URL_OF({ secure, domain }),
    name,
    value,
    secure,
    expirationDate: 1,
    ...(partitionKey ? { partitionKey } : {}),
  }));
  return (await setEach(expired)).length;
};
