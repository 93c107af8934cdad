export default {
  entry: './main.js',
  // index.html lies beside the sources.
  devServer: { static: '.', client: { overlay: false } },
};
