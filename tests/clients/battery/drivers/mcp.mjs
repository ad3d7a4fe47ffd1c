/** What the drivers of MCP servers share: a server, started as an agent's host starts it, and its tools. */

import { connectToServer } from '../../../harness/mcp_client.mjs';
import { TABWIRE } from '../../../harness/processes.mjs';
import { given } from '../driver.mjs';

export { installed } from '../../../harness/mcp_client.mjs';

/** The address of the browser in the server's arguments. Through the relay, `tabwire wrap` fills it in, as it does for users. */
export const address = given.address.home ? '{cdp_url}' : given.address.ws;

/** Starts a server that is a Node program, through `tabwire wrap` if there is a relay. */
export async function startServer(...args) {
  const { home } = given.address;
  const wrapped = home ? [TABWIRE, 'wrap', '--'] : [];
  const { client } = await connectToServer([...wrapped, process.execPath, ...args], {
    env: home && { TABWIRE_HOME: home },
    name: 'battery',
  });
  const call = async (name, args = {}) => {
    const { content, isError } = await client.callTool({ name, arguments: args });
    const text = content.map((part) => part.text ?? '').join('\n');
    if (isError) {
      throw new Error(text.replace(/^### Error\s+/, ''));
    }
    return { text, image: content.find(({ type }) => type === 'image')?.data };
  };
  return {
    /** Calls a tool and returns its text. */
    tool: async (name, args) => (await call(name, args)).text,
    /** Calls a tool and returns its picture. */
    picture: async (name, args) => (await call(name, args)).image,
    close: () => client.close(),
  };
}

/** The groups of a match that has to be there. */
export function found(text, pattern) {
  const match = pattern.exec(text);
  if (!match) {
    throw new Error(`${pattern} is not in: ${text.replaceAll(/\s+/g, ' ')}`);
  }
  return match.slice(1);
}
