"""Torchvision's models at small sizes: classification, segmentation, detection, video, optical flow."""
import functools

import torch
from torch import nn
from torchvision import models

from architecture import Architecture, image

# Name and input size. Large ones stand here with fewer classes or blocks than their files on the web have.
classifiers = {
    "squeezenet1_1": 64,
    "resnet18": 64,
    "resnext50_32x4d": 64,
    "densenet121": 64,
    "googlenet": 96,
    "inception_v3": 128,
    "mobilenet_v2": 64,
    "mobilenet_v3_small": 64,
    "mobilenet_v3_large": 64,
    "mnasnet0_5": 64,
    "shufflenet_v2_x0_5": 64,
    "efficientnet_b0": 64,
    "efficientnet_v2_s": 64,
    "regnet_x_400mf": 64,
    "regnet_y_400mf": 64,
    "convnext_tiny": 64,
    "swin_t": 64,
    "swin_v2_t": 64,
    "maxvit_t": 224,
}
segmenters = {"deeplabv3_mobilenet_v3_large": 96, "lraspp_mobilenet_v3_large": 96, "fcn_resnet50": 64}
videos = {"r2plus1d_18": 32, "s3d": 224, "swin3d_t": 64}


def vision_transformer() -> nn.Module:
    return models.VisionTransformer(64, 16, num_layers=4, num_heads=4, hidden_dim=64, mlp_dim=128, num_classes=50)


def features_of(name: str) -> nn.Module:
    """Without the classifier, whose weights are most of what these models weigh."""
    return getattr(models, name)(weights=None).features


def detector(make, size: int, deviation: float = 0.05, **options):
    """
    Thresholds of score so low that untrained heads find something; a head that says the same everywhere ties, so its biases and
    weights are spread.
    """
    module = make(weights=None, weights_backbone=None, num_classes=7, min_size=size, max_size=size, **options)
    return spread(module, deviation)


def spread(module: nn.Module, deviation: float = 0.05) -> nn.Module:
    for name, parameter in module.named_parameters():
        if parameter.dim() > 1 and "head" in name:
            nn.init.normal_(parameter, std=deviation)
    return module


def detectors():
    boxes = {"box_score_thresh": 0.15, "box_detections_per_img": 20, "rpn_pre_nms_top_n_test": 100, "rpn_post_nms_top_n_test": 50}
    two_stage = {
        "fasterrcnn_mobilenet_v3_large_fpn": {},
        "fasterrcnn_resnet50_fpn": {},
        "fasterrcnn_resnet50_fpn_v2": {},
        "maskrcnn_resnet50_fpn": {},
        "keypointrcnn_resnet50_fpn": {"num_keypoints": 5},
    }
    for name, options in two_stage.items():
        make = getattr(models.detection, name)
        yield name, functools.partial(detector, make, 96, **options, **boxes), 96
    one_stage = {"retinanet_resnet50_fpn": {"score_thresh": 0.3, "deviation": 0.015}, "fcos_resnet50_fpn": {"score_thresh": 0.2}}
    for name, options in one_stage.items():
        make = getattr(models.detection, name)
        yield name, functools.partial(detector, make, 96, detections_per_img=20, topk_candidates=50, **options), 96
    yield "ssdlite320_mobilenet_v3_large", lambda: spread(
        models.detection.ssdlite320_mobilenet_v3_large(
            weights=None, weights_backbone=None, num_classes=7, score_thresh=0.15, detections_per_img=20, topk_candidates=50
        )
    ), 320
    yield "ssd300_vgg16", lambda: spread(
        models.detection.ssd300_vgg16(
            weights=None, weights_backbone=None, num_classes=7, score_thresh=0.15, detections_per_img=20, topk_candidates=50
        ),
        # Nothing normalises what VGG's layers give: scores of 1 for all would tie.
        0.001,
    ), 300


def architectures():
    for name, size in classifiers.items():
        # init_weights of the two that have auxiliary heads takes a minute, for nothing.
        options = {"init_weights": False} if name in ("googlenet", "inception_v3") else {}
        build = functools.partial(getattr(models, name), weights=None, num_classes=50, **options)
        yield Architecture(name, build, functools.partial(lambda size: (image(size),), size))
    yield Architecture("vision_transformer", vision_transformer, lambda: (image(64),))
    for name in ("alexnet", "vgg11_bn"):
        yield Architecture(f"{name}.features", functools.partial(features_of, name), lambda: (image(64),))
    for name, size in segmenters.items():
        build = functools.partial(getattr(models.segmentation, name), weights=None, weights_backbone=None, num_classes=5)
        # A traced or frozen module answers with a dict, as the scripted one does.
        yield Architecture(name, build, functools.partial(lambda size: (image(size),), size))
    for name, size in videos.items():
        build = functools.partial(getattr(models.video, name), weights=None, num_classes=20)
        frames = 16 if name == "s3d" else 8
        inputs = functools.partial(lambda size, frames: (torch.rand(1, 3, frames, size, size) * 2 - 1,), size, frames)
        yield Architecture(name, build, inputs)
    yield Architecture(
        "raft_small",
        lambda: models.optical_flow.raft_small(weights=None),
        lambda: (image(128), image(128)),
    )
    for name, build, size in detectors():
        inputs = functools.partial(lambda size: ([torch.rand(3, size, size), torch.rand(3, size, size * 3 // 4)],), size)
        yield Architecture(name, build, inputs, ("scripted", "frozen"), settle=False)
