"""Generates bundles with chosen faults, and the truth about what is wrong in them.

The same arguments give the same bytes: no clock, no machine name and no hash order goes in.
"""

from affidavit.evaluation.generator.bulk.bundle import BulkFile, BulkPlant, BulkSpec, BulkTruth, write_bulk
from affidavit.evaluation.generator.bundle import GeneratedBundle, generate
from affidavit.evaluation.generator.bundle_truth import BundleTruth, Problem
from affidavit.evaluation.generator.faults import fault_names
from affidavit.evaluation.generator.packing import write
from affidavit.evaluation.generator.spec import BundleSpec, Form, Layout

__all__ = [
    "BulkFile",
    "BulkPlant",
    "BulkSpec",
    "BulkTruth",
    "BundleSpec",
    "BundleTruth",
    "Form",
    "GeneratedBundle",
    "Layout",
    "Problem",
    "fault_names",
    "generate",
    "write",
    "write_bulk",
]
