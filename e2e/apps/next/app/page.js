'use client';
import { load, tensor } from 'cresset';
import { useEffect } from 'react';
import { answer, modelsOfPage, show } from '../digits.js';

export default function Page() {
  useEffect(() => void show(answer({ load, tensor }, modelsOfPage())), []);
  return <h1>The digit classifier</h1>;
}
