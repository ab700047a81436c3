"""The sandbox's worker nodes."""

from affidavit.sandbox.account.nodes import DEMO_NODES, FleetNode


def test_nodes_whose_ids_end_alike_have_names_of_their_own() -> None:
    others = [FleetNode(instance_id=f"i-0dead0000{number:07x}") for number in range(1, 200)]
    names = [node.name for node in (*DEMO_NODES, *others)]
    assert len(set(names)) == len(names)
