"""The command line and the dashboard, through which people use the package; no other package imports them.

``cli/main.py`` is the ``nd`` command, ``dashboard/app.py`` the web application.
"""
