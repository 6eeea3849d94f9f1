// The DevKit's own conformance suite.
import { createTestSuite } from '@workflow/world-testing';

createTestSuite('@everstep/world');
