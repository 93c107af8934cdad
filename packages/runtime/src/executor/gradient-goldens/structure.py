import torch


def several_outputs(x, y):
    a = x * y
    b = a + x
    return a, b, b * a


def one_output_twice(x, y):
    a = x * y
    return a, a


def an_input_among_the_outputs(x, y):
    return x, x * y


def an_input_for_nothing(x, y):
    return x.exp()


def a_number_among_the_outputs(x, y):
    return x.exp() * 2, 3


def nothing_to_differentiate(x, y):
    return (x < 0).type_as(x) * x, y * 2


def the_same_twice(x, y):
    return torch.sigmoid(torch.sigmoid(x)) * torch.sigmoid(x)


def sizes(x, y):
    return x * x.size(0) + y.size(1)


def views(x, y):
    return (x * y).reshape([3, 2]).t() + x.permute([1, 0]).transpose(0, 1).contiguous().view([2, 3])


def lengths_of_one(x, y):
    return x.unsqueeze(1).squeeze(1) + y.unsqueeze(0).squeeze()


def broadcasts(x, y):
    return x.unsqueeze(0).expand([2, 2, 3]) * y


def means(x, y):
    return (x * y).mean([1], True) * x.mean() + y.mean([0], dtype=torch.float64)


def spreads(x, y):
    return x.std() + torch.var(y, [1], True, True) + torch.std(x, [1], correction=2, keepdim=True)


def softmaxes(x, y):
    return torch.softmax(x, 1) * torch.log_softmax(y * 2, 1) + torch.logsumexp(x, [1], True)


def products(x, y):
    return torch.addmm(x.mm(y.t()), x, y.t(), beta=2, alpha=3) + torch.matmul(x, y.t())


def vectors(x, y):
    return torch.mv(x, y.mean([0])) * torch.dot(x.view(6), y.view(6))


def batches(x, y):
    return torch.bmm(x.unsqueeze(0), y.t().unsqueeze(0))


def layers(x, y):
    return torch.layer_norm(torch.ops.aten.linear(x, y, x.mean([1])), [2]) * 2


def dropped(x, y):
    return torch.dropout(x, 0.5, True) * y


def normalized(x, y):
    return torch.batch_norm(x, y.mean([0]), None, None, None, True, 0.1, 1e-5, False)


def pools(x, y):
    return torch.ops.aten.avg_pool2d(x.unsqueeze(0), [1, 2], [], [0, 0], False, True, None) * torch.ops.aten.max_pool2d(
        y.unsqueeze(0), [1, 2]
    )


def adaptive_pools(x, y):
    return torch.ops.aten.adaptive_avg_pool2d(x.unsqueeze(0), [1, 1]) + torch.ops.aten.adaptive_avg_pool1d(y, [2])


CASES = [
    (program, (True, True))
    for program in [
        several_outputs, one_output_twice, an_input_among_the_outputs, an_input_for_nothing, a_number_among_the_outputs,
        nothing_to_differentiate, the_same_twice, sizes, views, lengths_of_one, broadcasts, means, spreads, softmaxes, products,
        vectors, batches, layers, dropped, normalized, pools, adaptive_pools,
    ]
] + [(several_outputs, (False, True)), (the_same_twice, (False, True)), (softmaxes, (False, True))]
