/* A native module for Node without Node's headers: it exports one function and the number 42. */
typedef void *value;
extern int napi_create_int32(value env, int number, value *result);
extern int napi_set_named_property(value env, value object, const char *name, value what);
extern int napi_create_function(value env, const char *name, unsigned long length,
                                value (*run)(value, value), void *data, value *result);

static value answer(value env, value info) {
  value result;
  (void)info;
  napi_create_int32(env, 42, &result);
  return result;
}

value napi_register_module_v1(value env, value exports) {
  value function;
  napi_create_function(env, "answer", 6, answer, 0, &function);
  napi_set_named_property(env, exports, "answer", function);
  return exports;
}
