import { mount } from 'svelte';
import SvelteChat from './SvelteChat.svelte';

mount(SvelteChat, { target: document.getElementById('root') });
