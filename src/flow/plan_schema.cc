#include "flow/plan_schema.h"

namespace everstep {
namespace {

constexpr std::string_view kSchema = R"json({
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "$id": "https://everstep.dev/schemas/plan.schema.json",
  "title": "Everstep plan",
  "type": "object",
  "required": ["steps"],
  "anyOf": [
    {"required": ["metadata"], "properties": {"metadata": {"required": ["planId", "planVersion"]}}},
    {"required": ["planId", "planVersion"]}
  ],
  "additionalProperties": false,
  "properties": {
    "metadata": {"$ref": "#/$defs/metadata"},
    "inputs": {
      "description": "The inputs of a run, by name.",
      "type": "object",
      "maxProperties": 1000,
      "propertyNames": {"pattern": "^[A-Za-z_][A-Za-z0-9._-]{0,99}$"},
      "additionalProperties": {"$ref": "#/$defs/input"}
    },
    "steps": {
      "type": "array",
      "minItems": 1,
      "maxItems": 200000,
      "items": {"$ref": "#/$defs/step"}
    },
    "outputs": {"description": "The run's result: a value with {{ expressions }}."},
    "timeout": {"description": "Limit for the whole run.", "$ref": "#/$defs/duration"},
    "priority": {"$ref": "#/$defs/priority"},
    "concurrencyKey": {"$ref": "#/$defs/someText"},
    "planId": {"$ref": "#/$defs/name"},
    "planVersion": {"$ref": "#/$defs/name"},
    "schemaVersion": {"$ref": "#/$defs/schemaVersion"},
    "triggers": {"description": "Accepted in older plans; has no effect."}
  },
  "$defs": {
    "name": {
      "type": "string",
      "minLength": 1,
      "maxLength": 256,
      "pattern": "^[^|\\u0000-\\u001f\\u007f-\\u009f]*$"
    },
    "someText": {"type": "string", "minLength": 1},
    "someTexts": {"type": "array", "items": {"$ref": "#/$defs/someText"}},
    "simpleName": {"type": "string", "pattern": "^[A-Za-z_][A-Za-z0-9_]{0,99}$"},
    "kind": {"type": "string", "pattern": "^[A-Za-z_][A-Za-z0-9._-]{0,99}$"},
    "stepId": {"type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$"},
    "stepIds": {"type": "array", "items": {"$ref": "#/$defs/stepId"}},
    "schemaVersion": {"enum": ["v1.0", "v1.1", "v1.2", "v1.3"]},
    "priority": {"type": "integer", "minimum": -1000, "maximum": 1000},
    "duration": {
      "description": "\"250ms\", \"5s\", \"1h30m\", ISO 8601 (\"PT30S\"), or milliseconds.",
      "oneOf": [
        {"type": "integer", "minimum": 0, "maximum": 3155760000000},
        {"type": "string", "pattern": "^(P[0-9TWDHMS.,]+|[0-9][0-9.,wdhms ]*)$"}
      ]
    },
    "template": {"type": "string", "pattern": "\\{\\{"},
    "expression": {"description": "With or without its braces.", "$ref": "#/$defs/someText"},
    "inputsMap": {"description": "A map with {{ expressions }}.", "type": "object"},
    "metadata": {
      "type": "object",
      "additionalProperties": false,
      "properties": {
        "planId": {"$ref": "#/$defs/name"},
        "planVersion": {"$ref": "#/$defs/name"},
        "schemaVersion": {"$ref": "#/$defs/schemaVersion"},
        "name": {"type": "string"},
        "description": {"type": "string"},
        "author": {"type": "string"},
        "createdAt": {"type": "string", "format": "date-time"},
        "createdBy": {"type": "string"},
        "tags": {"$ref": "#/$defs/someTexts"},
        "labels": {"type": "object", "additionalProperties": {"type": "string"}},
        "requiresCapabilities": {"$ref": "#/$defs/someTexts"},
        "fallbackBehavior": {"enum": ["reject", "emulate", "degrade"]},
        "targetAdapter": {"enum": ["any", "everstep", "mock", "temporal", "conductor"]},
        "requiresApproval": {"type": "boolean"}
      }
    },
    "inputWords": {
      "properties": {
        "type": {"enum": ["string", "integer", "number", "boolean", "array", "object"]},
        "description": {"type": "string"},
        "enum": {"type": "array", "minItems": 1},
        "minimum": {"type": "number"},
        "maximum": {"type": "number"},
        "minLength": {"type": "integer", "minimum": 0},
        "maxLength": {"type": "integer", "minimum": 0},
        "pattern": {"type": "string", "maxLength": 1024},
        "minItems": {"type": "integer", "minimum": 0},
        "maxItems": {"type": "integer", "minimum": 0},
        "items": {
          "type": "object",
          "$ref": "#/$defs/inputWords",
          "unevaluatedProperties": false
        }
      }
    },
    "input": {
      "type": "object",
      "$ref": "#/$defs/inputWords",
      "properties": {"required": {"type": "boolean"}, "default": true},
      "not": {"required": ["required", "default"], "properties": {"required": {"const": true}}},
      "unevaluatedProperties": false
    },
    "retryPolicy": {
      "type": "object",
      "required": ["maxAttempts"],
      "additionalProperties": false,
      "properties": {
        "maxAttempts": {"type": "integer", "minimum": 1, "maximum": 10000},
        "backoff": {"enum": ["none", "linear", "exponential"]},
        "initialDelay": {"$ref": "#/$defs/duration"},
        "maxDelay": {"$ref": "#/$defs/duration"},
        "jitter": {"oneOf": [{"type": "boolean"}, {"type": "number", "minimum": 0, "maximum": 1}]},
        "retryOn": {"$ref": "#/$defs/someTexts"}
      }
    },
    "secretRef": {
      "type": "object",
      "required": ["name", "provider"],
      "additionalProperties": false,
      "properties": {
        "name": {"$ref": "#/$defs/simpleName"},
        "provider": {"enum": ["env", "file"]},
        "key": {"$ref": "#/$defs/name"},
        "version": {"$ref": "#/$defs/name"}
      }
    },
    "action": {
      "properties": {
        "timeout": {"$ref": "#/$defs/duration"},
        "heartbeatTimeout": {"$ref": "#/$defs/duration"},
        "retryPolicy": {"$ref": "#/$defs/retryPolicy"},
        "secretRefs": {"type": "array", "maxItems": 100, "items": {"$ref": "#/$defs/secretRef"}},
        "queue": {"$ref": "#/$defs/name"},
        "priority": {"$ref": "#/$defs/priority"},
        "cancellable": {"type": "boolean"},
        "concurrencyKey": {"$ref": "#/$defs/someText"},
        "idempotencyKey": {"$ref": "#/$defs/someText"}
      }
    },
    "waitFor": {
      "type": "object",
      "minProperties": 1,
      "maxProperties": 1,
      "additionalProperties": false,
      "properties": {
        "duration": {"anyOf": [{"$ref": "#/$defs/duration"}, {"$ref": "#/$defs/template"}]},
        "until": {
          "anyOf": [{"type": "string", "format": "date-time"}, {"$ref": "#/$defs/template"}]
        },
        "hook": {
          "type": "object",
          "additionalProperties": false,
          "properties": {
            "token": {"$ref": "#/$defs/someText"},
            "timeout": {"$ref": "#/$defs/duration"}
          }
        },
        "approval": {
          "type": "object",
          "additionalProperties": false,
          "properties": {
            "prompt": {"$ref": "#/$defs/someText"},
            "token": {"$ref": "#/$defs/someText"},
            "timeout": {"$ref": "#/$defs/duration"}
          }
        }
      }
    },
    "items": {"oneOf": [{"$ref": "#/$defs/expression"}, {"type": "array"}]},
    "foreach": {
      "oneOf": [
        {"$ref": "#/$defs/items"},
        {
          "type": "object",
          "required": ["items"],
          "additionalProperties": false,
          "properties": {
            "items": {"$ref": "#/$defs/items"},
            "as": {"$ref": "#/$defs/simpleName"},
            "index": {"$ref": "#/$defs/simpleName"},
            "maxInFlight": {"type": "integer", "minimum": 1, "maximum": 10000}
          }
        }
      ]
    },
    "child": {
      "oneOf": [
        {"description": "A file beside this plan, or a URI.", "$ref": "#/$defs/someText"},
        {
          "type": "object",
          "required": ["uri"],
          "additionalProperties": false,
          "properties": {
            "uri": {"$ref": "#/$defs/someText"},
            "sha256": {"type": "string", "pattern": "^[0-9a-f]{64}$"}
          }
        },
        {"$ref": "#"}
      ]
    },
    "onFailure": {
      "oneOf": [
        {"enum": ["fail", "hold", "continue"]},
        {
          "type": "object",
          "required": ["fallback"],
          "additionalProperties": false,
          "properties": {"fallback": {"$ref": "#/$defs/stepId"}}
        }
      ]
    },
    "compensate": {
      "type": "object",
      "required": ["kind"],
      "$ref": "#/$defs/action",
      "properties": {
        "kind": {"$ref": "#/$defs/kind"},
        "inputs": {"$ref": "#/$defs/inputsMap"}
      },
      "unevaluatedProperties": false
    },
    "step": {
      "type": "object",
      "required": ["stepId"],
      "$ref": "#/$defs/action",
      "properties": {
        "stepId": {"$ref": "#/$defs/stepId"},
        "name": {"type": "string"},
        "kind": {"$ref": "#/$defs/kind"},
        "dependsOn": {"$ref": "#/$defs/stepIds"},
        "inputs": {"$ref": "#/$defs/inputsMap"},
        "outputs": {"description": "Computed from `result`: a value with {{ expressions }}."},
        "when": {"oneOf": [{"$ref": "#/$defs/expression"}, {"type": "boolean"}]},
        "foreach": {"$ref": "#/$defs/foreach"},
        "waitFor": {"$ref": "#/$defs/waitFor"},
        "plan": {"$ref": "#/$defs/child"},
        "onFailure": {"$ref": "#/$defs/onFailure"},
        "compensate": {"$ref": "#/$defs/compensate"},
        "artifacts": {"$ref": "#/$defs/someTexts"},
        "type": {"description": "The older name of kind.", "$ref": "#/$defs/kind"},
        "config": {"description": "The older name of inputs.", "$ref": "#/$defs/inputsMap"},
        "dependencies": {
          "description": "The older name of dependsOn.",
          "$ref": "#/$defs/stepIds"
        }
      },
      "allOf": [
        {"not": {"required": ["kind", "type"]}},
        {"not": {"required": ["inputs", "config"]}},
        {"not": {"required": ["dependsOn", "dependencies"]}},
        {"not": {"required": ["waitFor", "plan"]}}
      ],
      "unevaluatedProperties": false
    }
  }
}
)json";

}  // namespace

std::string_view PlanSchema() { return kSchema; }

}  // namespace everstep
