// Takes the place of Chromium's libvk_swiftshader.so on test machines and hands everything to Mesa's llvmpipe.
// Chromium's WebGPU takes a CPU device only when it introduces itself with SwiftShader's vendor and device id,
// so those two fields, and nothing else, are rewritten on the way through.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define EXPORTED __attribute__((visibility("default")))

enum { SWIFTSHADER_VENDOR = 0x1AE0, SWIFTSHADER_DEVICE = 0xC0DE };

// The leading fields of VkPhysicalDeviceProperties and VkPhysicalDeviceProperties2; the rest is left alone.
typedef struct {
  uint32_t api_version;
  uint32_t driver_version;
  uint32_t vendor_id;
  uint32_t device_id;
} Properties;

typedef struct {
  uint32_t structure_type;
  void *next;
  Properties properties;
} Properties2;

typedef void (*Function)(void);
typedef Function (*Lookup)(void *instance_or_null, const char *name);

static Lookup driver_lookup;
static Lookup driver_device_lookup;
static int32_t (*driver_negotiate)(uint32_t *version);
static void (*driver_properties)(void *device, Properties *properties);
static void (*driver_properties2)(void *device, Properties2 *properties);

__attribute__((constructor)) static void open_driver(void) {
  void *driver = dlopen("libvulkan_lvp.so", RTLD_NOW | RTLD_LOCAL);
  if (!driver) return;
  driver_lookup = (Lookup)dlsym(driver, "vk_icdGetInstanceProcAddr");
  driver_device_lookup = (Lookup)dlsym(driver, "vk_icdGetPhysicalDeviceProcAddr");
  driver_negotiate = (int32_t(*)(uint32_t *))dlsym(driver, "vk_icdNegotiateLoaderICDInterfaceVersion");
}

static void introduce_as_swiftshader(Properties *properties) {
  properties->vendor_id = SWIFTSHADER_VENDOR;
  properties->device_id = SWIFTSHADER_DEVICE;
}

static void get_properties(void *device, Properties *properties) {
  driver_properties(device, properties);
  introduce_as_swiftshader(properties);
}

static void get_properties2(void *device, Properties2 *properties) {
  driver_properties2(device, properties);
  introduce_as_swiftshader(&properties->properties);
}

static Function intercept(const char *name, Function found) {
  if (!found) return NULL;
  if (strcmp(name, "vkGetPhysicalDeviceProperties") == 0) {
    driver_properties = (void (*)(void *, Properties *))found;
    return (Function)get_properties;
  }
  if (strcmp(name, "vkGetPhysicalDeviceProperties2") == 0 || strcmp(name, "vkGetPhysicalDeviceProperties2KHR") == 0) {
    driver_properties2 = (void (*)(void *, Properties2 *))found;
    return (Function)get_properties2;
  }
  return found;
}

EXPORTED Function vk_icdGetInstanceProcAddr(void *instance, const char *name) {
  if (!driver_lookup) return NULL;
  if (strcmp(name, "vkGetInstanceProcAddr") == 0) return (Function)vk_icdGetInstanceProcAddr;
  return intercept(name, driver_lookup(instance, name));
}

EXPORTED Function vkGetInstanceProcAddr(void *instance, const char *name) {
  return vk_icdGetInstanceProcAddr(instance, name);
}

EXPORTED Function vk_icdGetPhysicalDeviceProcAddr(void *instance, const char *name) {
  return driver_device_lookup ? intercept(name, driver_device_lookup(instance, name)) : NULL;
}

EXPORTED int32_t vk_icdNegotiateLoaderICDInterfaceVersion(uint32_t *version) {
  return driver_negotiate ? driver_negotiate(version) : -1;
}
