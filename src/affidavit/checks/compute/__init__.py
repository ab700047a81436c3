"""The computations that checks name: small functions over documents. They know nothing of severity.

A function takes documents and keyword arguments and yields what it found. It never raises, whatever is in the
documents: text it cannot read is no finding, and `NotComputable` where somebody should know.
"""

from collections.abc import Callable, Iterator, Mapping

from affidavit.checks.computation_results import Found
from affidavit.checks.compute import (
    boots_and_cron,
    cni_configs,
    disk,
    dns,
    interfaces,
    ipamd_checkpoint,
    ipamd_counters,
    iptables,
    pod_routes,
    processes,
    services,
    settings,
    sysctl,
)

Computation = Callable[..., Iterator[Found]]

COMPUTATIONS: Mapping[str, Computation] = {
    "addresses.counter": ipamd_counters.counter,
    "addresses.share": ipamd_counters.share,
    "boots.frequent": boots_and_cron.frequent,
    "boots.unclean": boots_and_cron.unclean,
    "checkpoint.contradicts": ipamd_checkpoint.contradicts,
    "cni.other-first": cni_configs.other_first,
    "cron.rapid": boots_and_cron.rapid_cron,
    "disk.free-extents": disk.free_extents,
    "disk.read-only": disk.read_only,
    "disk.use": disk.use,
    "dns.long-search-list": dns.long_search_list,
    "dns.no-nameserver": dns.no_nameserver,
    "dns.own-nameserver": dns.own_nameserver,
    "dns.local-nameserver": dns.local_nameserver,
    "dns.too-many-nameservers": dns.too_many_nameservers,
    "interfaces.adapter-counter": interfaces.adapter_counter,
    "interfaces.conntrack-counter": interfaces.conntrack_counter,
    "interfaces.errors": interfaces.errors,
    "interfaces.flag-missing": interfaces.flag_missing,
    "interfaces.mac-policy": interfaces.mac_policy,
    "interfaces.no-loopback": interfaces.no_loopback,
    "iptables.both-backends": iptables.both_backends,
    "iptables.forward-drops-pods": iptables.forward_drops_pods,
    "iptables.services-missing": iptables.services_missing,
    "iptables.unexpected-rejects": iptables.unexpected_rejects,
    "kubelet.flag-differs": settings.flag_differs,
    "pods.default-routes-missing": pod_routes.default_routes_missing,
    "pods.no-way-out": pod_routes.no_way_out,
    "pods.routes-missing": pod_routes.routes_missing,
    "pods.rules-missing": pod_routes.rules_missing,
    "processes.in-state": processes.in_state,
    "processes.io-delay": processes.io_delay,
    "processes.large-environments": processes.large_environments,
    "processes.memory-available": processes.memory_available,
    "processes.memory-held": processes.memory_held,
    "processes.memory-hog": processes.memory_hog,
    "processes.missing": processes.missing_process,
    "processes.pids": processes.pids,
    "processes.pressure": processes.pressure,
    "processes.processors-taken": processes.processors_taken,
    "settings.contradict": settings.settings_contradict,
    "settings.endpoint-unknown": settings.endpoint_unknown,
    "settings.refused": settings.refused,
    "settings.line-says": settings.line_says,
    "services.none-active": services.none_active,
    "services.windows-stopped": services.windows_stopped,
    "sysctl.at-least": sysctl.setting_at_least,
    "sysctl.at-most": sysctl.setting_at_most,
    "sysctl.conntrack-use": sysctl.conntrack_use,
    "sysctl.equals": sysctl.setting_equals,
    "sysctl.file-handles": sysctl.file_handles,
    "sysctl.few-ports": sysctl.few_ports,
    "sysctl.strict-reverse-path": sysctl.strict_reverse_path,
    "sysctl.taint": sysctl.taint,
}
