import { elementwiseText } from './texts/elementwise.ts';
import { productsText } from './texts/products.ts';
import { viewsText } from './texts/views.ts';
import { windowsText } from './texts/windows.ts';

/**
 * What sizes operators give, in TorchScript: a tensor is the list of its sizes. Arguments that no size depends on are left out where
 * none that matters follows them. What a function asserts is known of the sizes afterwards, ranks above all: an operator that insists on
 * four dimensions tells that there are four.
 */
export const shapeFunctionText = [elementwiseText, windowsText, productsText, viewsText].join('\n');
