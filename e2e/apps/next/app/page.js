'use client';
import { load, tensor } from 'cresset';
import { useEffect } from 'react';
import { answer } from '../digits.js';
import { modelsOfPage, show } from '../page.js';

export default function Page() {
  useEffect(() => void show(answer({ load, tensor }, modelsOfPage())), []);
  return <h1>The digit classifier</h1>;
}
