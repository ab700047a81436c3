"""The node that a bundle comes from: names, addresses, versions and pods, the same in all its files."""

from collections.abc import Mapping
from dataclasses import dataclass
from random import Random

from affidavit.evaluation.generator.data_files import items, load, mapping, texts
from affidavit.evaluation.generator.spec import BundleSpec
from affidavit.evaluation.generator.text.template_slots import Writer


@dataclass(frozen=True, kw_only=True)
class Container:
    """A container without a stream is not collected: kubelet and containerd only talk about it."""

    name: str
    stream: str | None
    pipe: str
    id: str


@dataclass(frozen=True, kw_only=True)
class Pod:
    """A pod on the node. Its words fill slots such as `@{coredns.uid}`."""

    app: str
    name: str
    namespace: str
    uid: str
    containers: tuple[Container, ...]
    words: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class GeneratedNode:
    spec: BundleSpec
    words: Mapping[str, str]
    pods: tuple[Pod, ...]

    def writer(self, purpose: str) -> Writer:
        """A writer whose draws depend on the seed and the purpose only."""
        return Writer(
            rng=Random(f"{self.spec.seed}/{self.spec.layout}/{purpose}"),
            words=self.words,
            times={"boot": self.spec.booted_at, "now": self.spec.collected_at},
            groups={
                "any": tuple(pod.words for pod in self.pods),
                "app": tuple(pod.words for pod in self.pods if pod.namespace != "kube-system"),
            },
        )


def node_of(spec: BundleSpec) -> GeneratedNode:
    described = load("node.yaml")
    layout = mapping(load("layouts.yaml")[spec.layout])
    # Names and pods come from the seed alone, so every collector can show the same node.
    writer = Writer(
        rng=Random(f"{spec.seed}/node"),
        words={"instance_id": spec.instance_id},
        times={"boot": spec.booted_at, "now": spec.collected_at},
    )
    words = _grown(writer, {"instance_id": spec.instance_id}, mapping(described["words"]))
    words = _grown(writer, words, mapping(layout["words"]))
    pods = tuple(_pod(mapping(entry), writer, words) for entry in items(described["pods"]))
    for pod in pods:
        words |= {f"{pod.app}.{key}": value for key, value in pod.words.items()}
    return GeneratedNode(spec=spec, words=words, pods=pods)


def _grown(writer: Writer, words: Mapping[str, str], templates: Mapping[str, object]) -> dict[str, str]:
    grown = dict(words)
    for name, template in templates.items():
        grown[name] = writer.write(str(template), local=grown)
    return grown


def _pod(entry: Mapping[str, object], writer: Writer, node_words: Mapping[str, str]) -> Pod:
    app, namespace = str(entry["app"]), str(entry.get("namespace", "kube-system"))
    name = writer.write(str(entry.get("name", f"{app}-@{{suffix:5}}")), local=node_words)
    uid = writer.write("@{uuid}")
    containers = tuple(_container(mapping(each), writer) for each in items(entry["containers"]))
    words = {
        "app": app,
        "pod": name,
        "ns": namespace,
        "uid": uid,
        "uid_": uid.replace("-", "_"),
        "sandbox": writer.write("@{hex:64}"),
        "ip": writer.write(str(entry.get("ip", "10.0.1.@{int:30:250}")), local=node_words),
        "container": containers[0].name,
        "cid": containers[0].id,
        "image": writer.write(str(entry["image"]), local=node_words),
        "volume": f"kube-api-access-{writer.write('@{suffix:5}')}",
        "veth": writer.write("eni@{hex:11}"),
        "pod_pid": writer.write("@{int:4200:60000}"),
    }
    return Pod(app=app, name=name, namespace=namespace, uid=uid, containers=containers, words=words)


def _container(entry: Mapping[str, object], writer: Writer) -> Container:
    return Container(
        name=str(entry["name"]),
        stream=next(iter(texts(entry.get("stream"))), None),
        pipe=str(entry.get("pipe", "stderr")),
        id=writer.write("@{hex:64}"),
    )
