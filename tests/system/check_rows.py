# SPDX-License-Identifier: MIT
"""What the checkers of exports share: rows as every format has them."""


def workgroups(grid, workgroup):
    """The sides of a grid of work-items in workgroups; a memset of an import has no workgroup."""
    return tuple(-(-g // w) if w else g for g, w in zip(grid, workgroup))


def gpus(db):
    """{gpuId: (kfd_node, name, gfx, bdf)}: those that processes saw, and those that an import has the number of alone."""
    known = {row[0]: row[1:] for row in db.execute("SELECT gpuId, kfd_node, name, gfx, bdf FROM rtl_gpu")}
    if db.execute("SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE name = 'rtl_import')").fetchone()[0] and (
            db.execute("SELECT EXISTS (SELECT 1 FROM rtl_import)").fetchone()[0]):
        for number, in db.execute("""SELECT gpuId FROM rocpd_op UNION SELECT source_gpuId FROM rtl_copy
                                     UNION SELECT target_gpuId FROM rtl_copy"""):
            if number is not None:
                known.setdefault(number, (None,) * 4)
    return known
