import { Component, provideZonelessChangeDetection } from '@angular/core';
import { bootstrapApplication } from '@angular/platform-browser';
import { load, tensor } from 'cresset';
import { answer } from '../digits.js';
import { modelsOfPage, show } from '../page.js';

@Component({ selector: 'app-root', template: '<h1>The digit classifier</h1>' })
class App {
  constructor() {
    void show(answer({ load, tensor }, modelsOfPage()));
  }
}

void bootstrapApplication(App, { providers: [provideZonelessChangeDetection()] });
