export declare const load: () => Promise<never>;
export declare const tensor: () => null;
