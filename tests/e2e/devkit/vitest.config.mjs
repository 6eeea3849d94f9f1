export default {
  test: { include: ['suite.test.mjs'], testTimeout: 90_000, fileParallelism: false },
};
