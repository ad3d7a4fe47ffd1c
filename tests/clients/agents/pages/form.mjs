/** A long registration form. Sending it asks for confirmation in a dialog. */

import { layout, list } from './layout.mjs';

const COUNTRIES = [
  ...['Argentina', 'Australia', 'Austria', 'Belgium', 'Brazil', 'Canada', 'Chile', 'Denmark'],
  ...['Egypt', 'Finland', 'France', 'Germany', 'Greece', 'India', 'Ireland', 'Italy', 'Japan'],
  ...['Kenya', 'Mexico', 'Norway', 'Poland', 'Portugal', 'Spain', 'Sweden', 'Switzerland'],
];
const WORKSHOPS = ['Compilers', 'Databases', 'Networks', 'Typography', 'Robotics', 'Security'];
const TICKETS = ['Standard', 'Student', 'Patron'];

const field = (label, name, attributes = '') =>
  `<div class="field"><label for="${name}">${label}</label><div class="control"><input id="${name}" name="${name}" ${attributes}></div></div>`;

const choice = (type, name, label) =>
  `<div class="choice"><label><input type="${type}" name="${name}" value="${label}"> ${label}</label></div>`;

const BODY = `
<header><h1>Harbour Conference 2027</h1>
  <nav aria-label="Site"><ul>${list(['Programme', 'Speakers', 'Venue', 'Registration'], (name) => `<li><a href="/conference/${name.toLowerCase()}">${name}</a></li>`)}</ul></nav></header>
<main><h2>Registration</h2><p>Fields marked with * are required. Registration closes on 30 April.</p>
<form id="registration">
  <fieldset><legend>About you</legend>
    ${field('First name *', 'first')} ${field('Last name *', 'last')} ${field('Email *', 'email', 'type="email" placeholder="you@example.com"')}
    ${field('Phone', 'phone', 'type="tel"')} ${field('Date of birth', 'birth', 'type="date"')} ${field('Organisation', 'organisation')}</fieldset>
  <fieldset><legend>Address</legend>
    ${field('Street', 'street')} ${field('City', 'city')} ${field('Postal code', 'postcode')}
    <div class="field"><label for="country">Country *</label><div class="control"><select id="country" name="country"><option value="">Choose a country</option>
      ${list(COUNTRIES, (name) => `<option>${name}</option>`)}</select></div></div></fieldset>
  <fieldset><legend>Ticket</legend>${list(TICKETS, (name) => choice('radio', 'ticket', name))}
    ${field('Number of guests', 'guests', 'type="number" min="0" max="5" value="0"')}</fieldset>
  <fieldset><legend>Workshops</legend>${list(WORKSHOPS, (name) => choice('checkbox', 'workshops', name))}</fieldset>
  <fieldset><legend>Badge</legend><div class="field"><label for="photo">Badge photo</label><input id="photo" type="file"></div><p id="photo-status">No photo uploaded.</p></fieldset>
  <div class="field"><label for="remarks">Remarks</label><textarea id="remarks" name="remarks" rows="4"></textarea></div>
  <div class="choice"><label><input type="checkbox" name="terms" value="yes"> I accept the terms and conditions</label></div>
  <div class="actions"><button type="submit">Send registration</button> <button type="reset">Clear form</button></div>
</form><p id="result" role="status"></p></main>
<footer><p>Questions? <a href="/conference/contact">Contact the organisers</a></p></footer>`;

const SCRIPT = `
  find('#registration').addEventListener('submit', async (event) => {
    event.preventDefault();
    const data = new FormData(event.target);
    const values = { ...Object.fromEntries(data), workshops: data.getAll('workshops') };
    if (!confirm('Register ' + values.first + ' ' + values.last + ' with a ' + values.ticket + ' ticket?')) {
      find('#result').textContent = 'Registration cancelled.';
      return;
    }
    const { number } = await report('/api/registrations', values);
    find('#result').textContent = 'Thank you. Your registration number is ' + number + '.';
  });
  find('#photo').addEventListener('change', async ({ target: { files: [file] } }) => {
    find('#photo-status').textContent = 'Uploaded ' + file.name + ' (' + file.size + ' bytes).';
    await report('/api/photo', { name: file.name, text: await file.text() });
  });`;

export const form = layout({ title: 'Registration', body: BODY, script: SCRIPT });
