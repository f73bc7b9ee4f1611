"""The dashboards, as Python: what is shown in Grafana and the names that it is asked by.

``python -m grafana.src`` writes them to ``grafana/dashboards``. Names of metrics and attributes come from
``spanhook.semconv`` and the instruments themselves; what other programs emit is listed in ``outside``.
"""
